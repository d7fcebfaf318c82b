// SPDX-License-Identifier: Apache-2.0
#include "session/pending_runs.h"

#include <system_error>
#include <utility>

#include "base/fork.h"
#include "gantry/error.h"

namespace gantry {

PendingRuns::~PendingRuns() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    ends_ = true;
    threads = std::move(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

void PendingRuns::add(std::function<void()> run) {
  require_not_forked();
  const MutexLock lock(mutex_);
  if (idle_ <= waiting_.size() && threads_.size() < most_threads_) {
    try {
      watch_forks();
      threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error& error) {
      if (threads_.empty()) {
        throw Error(Code::kUnavailable, std::string("run_async: no thread can be started (") +
                                            error.what() + "); use run()");
      }
    }
  }
  waiting_.push_back(std::move(run));
  changed_.notify_one();
}

void PendingRuns::serve() {
  const MutexLock lock(mutex_);
  while (true) {
    ++idle_;
    while (waiting_.empty() && !ends_) changed_.wait(mutex_);
    --idle_;
    if (waiting_.empty()) return;
    const std::function<void()> run = std::move(waiting_.front());
    waiting_.pop_front();
    const MutexUnlock unlock(mutex_);
    run();
  }
}

}  // namespace gantry
