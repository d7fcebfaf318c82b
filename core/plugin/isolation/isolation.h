// SPDX-License-Identifier: Apache-2.0
// What the configuration says of a provider that runs in a process of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gantry {

struct IsolationSettings {
  std::string worker;  ///< path of gantry-worker
  /// To load, negotiate and enumerate.
  int64_t start_timeout_ms = 30000;
  /// Of one claim or compilation.
  int64_t compile_timeout_ms = 600000;
  /// Of one run; 0: as long as it takes, unless the run has a deadline of its own.
  int64_t run_timeout_ms = 0;
  /// What a run that was stopped has to come to an end before its process is ended.
  int64_t stop_grace_ms = 2000;
  uint64_t memory_limit_bytes = 0;  ///< of the process's own memory; 0: none
  bool is_sandboxed = false;
  /// Variables that a sandboxed process gets beside those of worker_environment.cc; with * for any
  /// characters.
  std::vector<std::string> environment = {};

  bool operator==(const IsolationSettings& other) const = default;
};

}  // namespace gantry
