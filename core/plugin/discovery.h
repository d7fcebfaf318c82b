// SPDX-License-Identifier: Apache-2.0
// Finding manifests: which files, in which order (ARCHITECTURE §5). Opens no library. Reads the
// environment when called.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gantry {

/// A manifest file to look at, or a place that was named and is not there.
struct ManifestFile {
  std::string path;     ///< absolute
  std::string origin;   ///< "configuration", "GANTRY_PROVIDER_FILES", "user", "site", "bundled" ...
  std::string problem;  ///< not empty: why there is nothing to read
};

/// Folders and variables that discovery reads; tests give their own.
struct SearchEnvironment {
  std::optional<std::string> provider_files;      ///< GANTRY_PROVIDER_FILES
  std::optional<std::string> add_provider_files;  ///< GANTRY_ADD_PROVIDER_FILES
  std::vector<std::string> user;                  ///< folders
  std::vector<std::string> site;
  std::vector<std::string> bundled;

  /// Of this process. With raised privileges (setuid, file capabilities) the environment and the
  /// user's folders are left out.
  static SearchEnvironment of_process();
};

/// All manifest files in search order. Entries of `configured` and of the variables are files or
/// folders; a folder stands for its
/// *.json files by name.
std::vector<ManifestFile> find_manifests(const std::vector<std::string>& configured,
                                         const SearchEnvironment& environment);

}  // namespace gantry
