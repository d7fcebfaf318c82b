// SPDX-License-Identifier: Apache-2.0
// Opening provider libraries: by absolute path, bound at once, symbols kept local, never closed
// while the process lives. Any thread.
#pragma once

#include <gantry/provider.h>

#include <string>

#include "plugin/discovery/library_file.h"

namespace gantry {

/// Opens the library (again: no effect) and returns its entry. UNAVAILABLE: the loader refused,
/// with its text, or the file is not `checked` any more. ABI_MISMATCH: no gantry_provider_v1; lists
/// exports that look like it.
gantry_provider_entry open_library(const std::string& absolute_path, const FileIdentity& checked);

}  // namespace gantry
