// SPDX-License-Identifier: Apache-2.0
// A scope that holds a mutex which another load may hold for a long time, for example while it
// starts a worker process.
#pragma once

#include <chrono>
#include <string_view>
#include <thread>

#include "base/mutex.h"
#include "base/run_limits.h"

namespace gantry {

/// Waits as MutexLock does. If this thread is part of a load (LoadScope), the wait ends with the
/// load's limits: throws CANCELLED or DEADLINE_EXCEEDED, with `step`, the next step of loading, in
/// the message.
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
