// SPDX-License-Identifier: Apache-2.0
// The report of all candidates as JSON, for `gantry doctor --json` and the file of
// GANTRY_LOADER_REPORT. Pure functions except write_report().
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

/// Replaces the file atomically. False: it failed, and the reason is logged.
bool write_report(const LoaderReport& report, const std::string& file) noexcept;

}  // namespace gantry
