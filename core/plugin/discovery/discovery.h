// SPDX-License-Identifier: Apache-2.0
// Finding manifests: which files, in which order (docs/MANIFEST.md). Opens no library. Reads the
// environment when called.
#pragma once

#include <gantry/runtime.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

/// A manifest file to read, or a search path that was named and does not exist.
struct ManifestFile {
  enum class Place { kConfiguration, kEnvironment, kUser, kSite, kBundled };
  std::string path;     ///< absolute
  std::string origin;   ///< "the configuration", "GANTRY_PROVIDER_FILES", "user", "site" ...
  std::string problem;  ///< not empty: why there is no file to read
  Place place = Place::kConfiguration;
};

/// Files, folders and variables on which finding and loading depend; tests pass their own.
struct SearchEnvironment {
  bool is_elevated = false;                       ///< setuid, setgid or file capabilities
  std::optional<std::string> provider_files;      ///< GANTRY_PROVIDER_FILES
  std::optional<std::string> add_provider_files;  ///< GANTRY_ADD_PROVIDER_FILES
  std::vector<std::string> user;                  ///< folders
  std::vector<std::string> site;
  std::vector<std::string> bundled;
  std::optional<std::vector<std::string>> select;  ///< patterns of names; only these are used
  std::vector<std::string> disable;                ///< patterns of names, over `select`
  bool is_strict = false;                          ///< GANTRY_STRICT
  std::string loader_log;                          ///< GANTRY_LOADER_LOG
  std::string report_file;                         ///< GANTRY_LOADER_REPORT; empty: none
  std::string policy_file;                         ///< empty: none
  std::string cache_folder;                        ///< of probes and marks; empty: none
  std::string probe_helper;                        ///< path of gantry-probe
  std::string worker_program;                      ///< path of gantry-worker
  std::map<std::string, bool> isolated;            ///< GANTRY_ISOLATION, by provider name
  std::optional<bool> all_isolated;                ///< GANTRY_ISOLATION=all or off
  std::vector<EnvironmentVariable> variables;      ///< all that were read, with their state
  /// A sentence for each misspelt GANTRY_ variable, and for each with an invalid value.
  std::vector<std::string> slips;

  /// The environment of this process. With raised privileges all variables and the user's folders
  /// are ignored.
  static SearchEnvironment of_process();
  /// Records that a variable is ignored, and why. The caller must undo its effect.
  void ignore(const std::string& name, const std::string& reason);
};

/// The text without leading and trailing blanks.
std::string_view trim_blanks(std::string_view text);
/// The items of a list in a variable, trimmed; empty ones are skipped.
std::vector<std::string> split_list(std::string_view list, char separator);

/// All manifest files in search order. Entries of `configured` and of the variables are files or
/// folders; a folder stands for its *.json files by name.
std::vector<ManifestFile> find_manifests(const std::vector<std::string>& configured,
                                         const SearchEnvironment& environment);

}  // namespace gantry
