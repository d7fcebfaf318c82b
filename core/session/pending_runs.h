// SPDX-License-Identifier: Apache-2.0
// Runs of a session that were begun without waiting for them, on threads of the session's own.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace gantry {

class PendingRuns {
 public:
  /// As many runs go on at once; further ones begin in the order in which they came.
  explicit PendingRuns(size_t most_threads) : most_threads_(most_threads) {}
  /// Waits until all of them have ended. Not from one of them.
  ~PendingRuns();
  PendingRuns(const PendingRuns&) = delete;
  PendingRuns& operator=(const PendingRuns&) = delete;

  /// Calls `run`, which must not throw, on one of the threads; starts one if none is idle. Any
  /// thread. UNAVAILABLE: the process can start no thread, and the session has none.
  void add(std::function<void()> run);

 private:
  void serve();

  const size_t most_threads_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> waiting_ GANTRY_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ GANTRY_GUARDED_BY(mutex_);
  size_t idle_ GANTRY_GUARDED_BY(mutex_) = 0;
  bool ends_ GANTRY_GUARDED_BY(mutex_) = false;
};

}  // namespace gantry
