// SPDX-License-Identifier: Apache-2.0
// What this machine and process offer to a provider: features of the processor, libraries that the
// dynamic loader would find, libraries that are loaded. Read once for each object, when first asked
// for; nothing is loaded. One thread, but for the functions.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gantry {

class Machine {
 public:
  /// Path of a library that the dynamic loader would take for `name`: in `folders` (those that the
  /// asking library names), then where it always looks. Empty: none.
  std::string find_library(const std::string& name, const std::vector<std::string>& folders);

 private:
  std::optional<std::vector<std::string>> folders_;
  std::optional<std::map<std::string, std::string>> cache_;
};

/// Features of the processor by the names of /proc/cpuinfo, read once for the process. [any]
const std::set<std::string>& cpu_features();

/// Path of the library of that file name that is in the process now; empty: none.
std::string loaded_library(const std::string& name);

/// Path of the library that holds gantry's core, links resolved; empty if that cannot be known.
const std::string& own_library();

}  // namespace gantry
