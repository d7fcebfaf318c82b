// SPDX-License-Identifier: Apache-2.0
// Opens provider libraries by absolute path with RTLD_NOW | RTLD_LOCAL, and never closes them. Any
// thread.
#pragma once

#include <gantry/provider.h>

#include <string>

#include "plugin/discovery/library_file.h"

namespace gantry {

/// Opens the library, if it is not open yet, and returns its entry. UNAVAILABLE: the loader refused
/// (with its text), or the file is no longer `checked`. ABI_MISMATCH: no symbol gantry_provider_v1;
/// the message lists similar exports.
gantry_provider_entry open_library(const std::string& absolute_path, const FileIdentity& checked);

}  // namespace gantry
