// SPDX-License-Identifier: Apache-2.0
// Reports the verdicts of the checks: as text, as JSON, and as JUnit for build servers. Pure
// functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "watch.h"

namespace gantry::checks {

struct Report {
  std::string manifest;
  int level = 5;  ///< the last one that was asked for
  std::vector<CheckResult> results;

  [[nodiscard]] bool is_good() const;
  [[nodiscard]] size_t count(const std::string& status) const;
  /// The highest level of which, and of those below, no check is bad and one has passed; 0: none.
  [[nodiscard]] int reached() const;
};

/// Keys manifest, good, level_reached, passed, failed, skipped, checks (docs/command-line.md).
nlohmann::ordered_json to_json(const Report& report);
/// A JUnit document: a suite for each level.
std::string to_junit(const Report& report);

}  // namespace gantry::checks
