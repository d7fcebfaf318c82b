// SPDX-License-Identifier: Apache-2.0
// A queue of asynchronous runs, with threads of the session's own.
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
  /// `most_threads`: number of runs that go on at once; further ones wait in order.
  explicit PendingRuns(size_t most_threads) : most_threads_(most_threads) {}
  /// Waits until all runs have ended. Must not be called by a run.
  ~PendingRuns();
  PendingRuns(const PendingRuns&) = delete;
  PendingRuns& operator=(const PendingRuns&) = delete;

  /// Calls `run`, which must not throw, on one of the threads; starts a thread if none is idle. Any
  /// thread. UNAVAILABLE: no thread can be started, and there is none yet.
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
