// SPDX-License-Identifier: Apache-2.0
// The execution contexts of one program: each serves one run at a time, and there are at most so
// many. A run that finds none waits in a queue, first come, first served.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/run_limits.h"
#include "run/execution_context.h"

namespace gantry {

class ContextPool {
 public:
  /// Makes a context. `number`: counts those of the pool from 0. Any thread, without a lock.
  using Make = std::function<std::unique_ptr<ExecutionContext>(size_t number)>;

  /// A run that has waited this long is given the next context that is returned. Until then a
  /// thread that is awake may take that context first: waking another thread takes as long as a
  /// short run.
  static constexpr std::chrono::milliseconds kOvertaken{10};

  /// `most`: at least 1.
  ContextPool(size_t most, Make make);
  ~ContextPool();
  ContextPool(const ContextPool&) = delete;
  ContextPool& operator=(const ContextPool&) = delete;

  /// A context for one run: a free one, a new one, or the one that the queue brings. Give it to
  /// release() or remove(). Any thread. Errors: CANCELLED and DEADLINE_EXCEEDED while it waits;
  /// those of making a context.
  ExecutionContext* acquire(const RunLimits& limits);
  /// The run has ended. Any thread.
  void release(ExecutionContext* context);
  /// Takes a context that a run has acquired out of the pool, which may make another one for it.
  [[nodiscard]] std::unique_ptr<ExecutionContext> remove(ExecutionContext* context);
  /// Takes all contexts out. Requires that no run has one and none waits.
  [[nodiscard]] std::vector<std::unique_ptr<ExecutionContext>> remove_all();

  /// Calls visit(context) for each, also for those that runs have.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    const MutexLock lock(mutex_);
    for (const auto& context : contexts_) {
      if (context) visit(*context);
    }
  }
  /// Calls visit(context) for each that no run has; none can acquire one meanwhile.
  template <typename Visit>
  void for_each_free(Visit&& visit) {
    const MutexLock lock(mutex_);
    for (ExecutionContext* context : free_) visit(*context);
  }
  /// Runs in the queue.
  [[nodiscard]] size_t waiting() const;

 private:
  struct Waiter {
    const std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    CondVar changed;
    ExecutionContext* granted = nullptr;
  };
  [[nodiscard]] bool has_room() const GANTRY_REQUIRES(mutex_);
  ExecutionContext* wait(const RunLimits& limits) GANTRY_REQUIRES(mutex_);
  void wake_first() GANTRY_REQUIRES(mutex_);
  std::unique_ptr<ExecutionContext> take_out(const ExecutionContext* context)
      GANTRY_REQUIRES(mutex_);

  const size_t most_;
  const Make make_;
  mutable Mutex mutex_;
  // Null: is being made, without the lock.
  std::vector<std::unique_ptr<ExecutionContext>> contexts_ GANTRY_GUARDED_BY(mutex_);
  std::vector<ExecutionContext*> free_ GANTRY_GUARDED_BY(mutex_);
  // In the order in which they came. Each is on the stack of its run.
  std::deque<Waiter*> waiting_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry
