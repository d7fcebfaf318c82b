// SPDX-License-Identifier: Apache-2.0
// Formats the results of the checks as JSON, and as JUnit XML for CI. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "watch.h"

namespace gantry::checks {

struct Report {
  std::string manifest;
  int level = 5;  ///< the last level that was requested
  std::vector<CheckResult> results;

  [[nodiscard]] bool is_good() const;
  [[nodiscard]] size_t count(const std::string& status) const;
  /// The highest level up to which every level has a passed check and no bad one; 0: none.
  [[nodiscard]] int reached() const;
};

/// Keys manifest, good, level_reached, passed, failed, skipped, checks (docs/command-line.md).
nlohmann::ordered_json to_json(const Report& report);
/// A JUnit document with a test suite for each level.
std::string to_junit(const Report& report);

}  // namespace gantry::checks
