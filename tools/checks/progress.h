// SPDX-License-Identifier: Apache-2.0
// Names what the running check is doing, so that a crash can be explained.
#pragma once

#include <functional>
#include <string>

namespace gantry::checks {

/// Where notes go; set once, before checks run. One thread at a time calls `note_progress`.
inline std::function<void(const std::string&)>& progress_sink() {
  static auto* const sink = new std::function<void(const std::string&)>;
  return *sink;
}

/// Reports the next step, as "claim of Conv with no inputs".
inline void note_progress(const std::string& what) {
  if (progress_sink()) progress_sink()(what);
}

}  // namespace gantry::checks
