// SPDX-License-Identifier: Apache-2.0
// A scope that holds a mutex which another load may hold for long, as while it starts the process
// of a provider.
#pragma once

#include <chrono>
#include <string_view>
#include <thread>

#include "base/mutex.h"
#include "base/run_limits.h"

namespace gantry {

/// Waits as MutexLock does, but where this thread is part of a load, no longer than that one's
/// limits: throws CANCELLED or DEADLINE_EXCEEDED; `step` says what would have come next.
class GANTRY_THREAD_ANNOTATION(scoped_lockable) LoadLock {
 public:
  // The analysis cannot follow a lock that is tried in a loop.
  LoadLock(Mutex& mutex, std::string_view step)
      GANTRY_ACQUIRE(mutex) GANTRY_NO_THREAD_SAFETY_ANALYSIS : mutex_(mutex) {
    constexpr std::chrono::milliseconds kTick{1};
    const RunLimits* limits = load_limits();
    if (!limits || !limits->can_stop()) {
      mutex_.lock();
      return;
    }
    while (!mutex_.try_lock()) {
      poll_load(step);
      std::this_thread::sleep_for(kTick);
    }
  }
  ~LoadLock() GANTRY_RELEASE() { mutex_.unlock(); }
  LoadLock(const LoadLock&) = delete;
  LoadLock& operator=(const LoadLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace gantry
