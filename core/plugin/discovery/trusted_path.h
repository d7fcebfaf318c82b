// SPDX-License-Identifier: Apache-2.0
// Who could replace a file that this process is going to run: its owner, the owners of all folders
// above it, and whoever their permissions let write. docs/MANIFEST.md has the rule, decision 10 the
// reasons. Reads the file system.
#pragma once

#include <string>

namespace gantry {

/// Checks `path` (absolute, links resolved) and every folder above it. UNAVAILABLE: somebody else
/// than root, the running user and the owner of gantry's own library could replace it; names the
/// offending path and writes it to the log. With raised privileges only root may.
void check_trusted(const std::string& path, bool is_elevated);
/// The same of a folder as the place of files that are not there yet, and every folder above it;
/// the log is left to the caller.
void check_trusted_folder(const std::string& path, bool is_elevated);

}  // namespace gantry
