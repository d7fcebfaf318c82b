// SPDX-License-Identifier: Apache-2.0
// Checks who could replace a file that this process is going to run: its owner, the owners of all
// folders above it, and users to whom their permissions give write access. docs/MANIFEST.md has the
// rule, decision 10 the reasons. Reads the file system.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

namespace gantry {

/// Users and groups that may write files that this process runs. Immutable once made.
struct TrustedWriters {
  bool is_elevated = false;
  bool is_everybody = false;  ///< everybody could replace gantry's own library anyway
  std::set<uid_t> users;
  std::set<gid_t> groups;

  /// With raised privileges only root. Else root, the running user, the groups of the process,
  /// everyone who could replace gantry's own library, and `named`: "user:NAME" or "group:NAME",
  /// with names or numeric ids. Entries that have a fault add nobody.
  static TrustedWriters of_process(bool is_elevated, const std::vector<std::string>& named = {});
};

/// What is wrong with an entry of /providers/trust.
enum class TrustFault : uint8_t {
  kNone,
  kForm,     ///< neither "user:NAME" nor "group:NAME"
  kUnknown,  ///< this machine has no user or group of that name
};
TrustFault fault_of_trust(const std::string& named);

/// Checks `path` (absolute, links resolved) and every folder above it. UNAVAILABLE: someone who is
/// not in `writers` could replace the file; the message names the path at fault, and is logged.
void check_trusted(const std::string& path, const TrustedWriters& writers);
/// The same for a folder in which files will be created, and every folder above it. Does not log.
void check_trusted_folder(const std::string& path, const TrustedWriters& writers);

}  // namespace gantry
