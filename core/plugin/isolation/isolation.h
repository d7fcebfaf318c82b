// SPDX-License-Identifier: Apache-2.0
// The configuration of a provider that runs in a process of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gantry {

struct IsolationSettings {
  std::string worker;  ///< path of gantry-worker
  /// Limit for loading, negotiating and enumerating.
  int64_t start_timeout_ms = 30000;
  /// Limit for one claim or compile call.
  int64_t compile_timeout_ms = 600000;
  /// Limit for one run; 0: only the run's own deadline.
  int64_t run_timeout_ms = 0;
  /// Time that a stopped run has to end before its process is killed.
  int64_t stop_grace_ms = 2000;
  uint64_t memory_limit_bytes = 0;  ///< of the process's own memory; 0: none
  bool is_sandboxed = false;
  /// Environment variables that a sandboxed process gets besides those of worker_environment.cc; *
  /// is a wildcard.
  std::vector<std::string> environment = {};

  bool operator==(const IsolationSettings& other) const = default;
};

}  // namespace gantry
