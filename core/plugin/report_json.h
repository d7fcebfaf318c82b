// SPDX-License-Identifier: Apache-2.0
// The report of all candidates as JSON: what `gantry doctor --json` prints and GANTRY_LOADER_REPORT
// receives. Pure functions but for the file.
#pragma once

#include <gantry/runtime.h>

#include <string>
#include <vector>

namespace gantry {

struct LoaderReport {
  std::vector<ProviderReport> providers;
  std::vector<EnvironmentVariable> environment;
  bool is_elevated = false;
  bool is_strict = false;
  std::string policy;  ///< file; empty: there is none
};

/// A JSON object, indented.
std::string to_json(const LoaderReport& report);

/// Replaces the file at once, so that a reader sees one report or the other. False: it failed, and
/// why is logged.
bool write_report(const LoaderReport& report, const std::string& file) noexcept;

}  // namespace gantry
