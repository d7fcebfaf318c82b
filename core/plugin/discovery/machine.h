// SPDX-License-Identifier: Apache-2.0
// What this machine and process offer to a provider: CPU features, libraries that the dynamic
// loader would find, libraries that are loaded. Each object reads them once, on first use, and
// loads nothing. The class: one thread; the functions: any.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gantry {

class Machine {
 public:
  /// Path of the library that the dynamic loader would load for `name`: searched in `folders` (the
  /// RPATH or RUNPATH of the library that needs it), then in the loader's default folders. Empty:
  /// none.
  std::string find_library(const std::string& name, const std::vector<std::string>& folders);

 private:
  std::optional<std::vector<std::string>> folders_;
  std::optional<std::map<std::string, std::string>> cache_;
};

/// CPU features by their names in /proc/cpuinfo, read once per process. [any]
const std::set<std::string>& cpu_features();

/// Path of the loaded library of that file name; empty: none.
std::string loaded_library(const std::string& name);

/// Path of the library of gantry's core, links resolved; empty if it is unknown.
const std::string& own_library();

}  // namespace gantry
