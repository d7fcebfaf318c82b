// SPDX-License-Identifier: Apache-2.0
// Who could replace a file that this process is going to run: its owner, the owners of all folders
// above it, and whoever their permissions let write. docs/MANIFEST.md has the rule, decision 10 the
// reasons. Reads the file system.
#pragma once

#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

namespace gantry {

/// Those who may write what this process runs. Immutable once made.
struct TrustedWriters {
  bool is_elevated = false;
  bool is_everybody = false;  ///< everybody could replace gantry's own library anyway
  std::set<uid_t> users;
  std::set<gid_t> groups;

  /// With raised privileges root alone. Else root, the running user and the groups of the process,
  /// whoever could replace gantry's own library, and `named`: "user:NAME" or "group:NAME", or
  /// numbers instead of names. INVALID_ARGUMENT: one of `named` is of another form or unknown.
  static TrustedWriters of_process(bool is_elevated, const std::vector<std::string>& named = {});
};

/// Checks `path` (absolute, links resolved) and every folder above it. UNAVAILABLE: somebody else
/// than `writers` could replace it; names the offending path and writes it to the log.
void check_trusted(const std::string& path, const TrustedWriters& writers);
/// The same of a folder as the place of files that are not there yet, and every folder above it;
/// the log is left to the caller.
void check_trusted_folder(const std::string& path, const TrustedWriters& writers);

}  // namespace gantry
