// SPDX-License-Identifier: Apache-2.0
// The ELF note of a provider library (gantry_note): ABI version, layout and sanitizer. Checked
// before the library is opened, because opening runs its code. Pure functions of the file.
#pragma once

#include <gantry/provider.h>

#include <string>

#include "plugin/discovery/library_file.h"

namespace gantry {

/// Reads the note of a library file. ABI_MISMATCH: built for another processor. INVALID_ARGUMENT:
/// not an ELF shared library, truncated, or without a note.
gantry_note read_note(const LibraryFile& file);

/// Checks that this host can open a library with that note. ABI_MISMATCH: another major version,
/// layout or sanitizer; the message has both sides and says which must be rebuilt.
void check_note(const gantry_note& note, const std::string& library);

}  // namespace gantry
