// SPDX-License-Identifier: Apache-2.0
// A queue of asynchronous runs, with threads of the session's own.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/fork.h"
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
  struct Queue {
    void serve();

    ProcessBound process;
    Mutex mutex;
    CondVar changed;
    std::deque<std::function<void()>> waiting GANTRY_GUARDED_BY(mutex);
    std::vector<std::thread> threads GANTRY_GUARDED_BY(mutex);
    size_t idle GANTRY_GUARDED_BY(mutex) = 0;
    bool ends GANTRY_GUARDED_BY(mutex) = false;
  };
  Queue& queue();

  const size_t most_threads_;
  Mutex mutex_;
  std::unique_ptr<Queue> queue_ GANTRY_GUARDED_BY(mutex_);  // null: nothing has run yet
};

}  // namespace gantry
