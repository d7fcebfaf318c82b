// SPDX-License-Identifier: Apache-2.0
// Runs the checks in child processes and collects their results. A check in which the child crashed
// or hung is a result too; a new child continues with the next check. A check that loses the device
// also needs a new child, since a device stays lost for its process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check.h"

namespace gantry::checks {

struct CheckResult {
  int level = 0;
  std::string name;
  std::string duty;
  std::string status;   ///< "passed", "failed", "skipped", "crashed" or "timed out"
  std::string message;  ///< what was expected and found, or why it was skipped
  std::string remedy;   ///< what the vendor has to do
  double ms = 0;
  [[nodiscard]] bool is_bad() const { return status != "passed" && status != "skipped"; }
};

struct WatchOptions {
  std::string program;                 ///< executable of the child
  std::vector<std::string> arguments;  ///< its command line, for the checks from 0 on
  int timeout_ms = 120000;             ///< of one check
  size_t most_crashes = 50;            ///< crashes and lost devices after which it stops
  std::function<void(const CheckResult&)>
      seen;  ///< called for each result as it comes; may be empty
};

/// Runs all checks. The child gets the options --child-fd and --child-from in addition to
/// `arguments`. Throws UNAVAILABLE if no child can be started.
std::vector<CheckResult> watch_children(const WatchOptions& options);

}  // namespace gantry::checks
