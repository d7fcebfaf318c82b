// SPDX-License-Identifier: Apache-2.0
#include "session/pending_runs.h"

#include <system_error>
#include <utility>

#include "gantry/error.h"

namespace gantry {

PendingRuns::~PendingRuns() {
  std::unique_ptr<Queue> queue;
  {
    const MutexLock lock(mutex_);
    queue = std::move(queue_);
  }
  if (!queue) return;
  // A forked child does not have the threads, and their condition variable counts them for ever.
  if (queue->process.is_elsewhere()) {
    static_cast<void>(queue.release());
    return;
  }
  std::vector<std::thread> threads;
  {
    const MutexLock lock(queue->mutex);
    queue->ends = true;
    threads = std::move(queue->threads);
  }
  queue->changed.notify_all();
  for (std::thread& thread : threads) thread.join();
}

PendingRuns::Queue& PendingRuns::queue() {
  const MutexLock lock(mutex_);
  if (queue_ && queue_->process.is_elsewhere()) static_cast<void>(queue_.release());
  if (!queue_) {
    watch_forks();
    queue_ = std::make_unique<Queue>();
  }
  return *queue_;
}

void PendingRuns::add(std::function<void()> run) {
  require_not_forked();
  Queue& own = queue();
  const MutexLock lock(own.mutex);
  if (own.idle <= own.waiting.size() && own.threads.size() < most_threads_) {
    try {
      own.threads.emplace_back([&own] { own.serve(); });
    } catch (const std::system_error& error) {
      if (own.threads.empty()) {
        throw Error(Code::kUnavailable, std::string("run_async: no thread can be started (") +
                                            error.what() + "); use run()");
      }
    }
  }
  own.waiting.push_back(std::move(run));
  own.changed.notify_one();
}

void PendingRuns::Queue::serve() {
  const MutexLock lock(mutex);
  while (true) {
    ++idle;
    while (waiting.empty() && !ends) changed.wait(mutex);
    --idle;
    if (waiting.empty()) return;
    const std::function<void()> run = std::move(waiting.front());
    waiting.pop_front();
    const MutexUnlock unlock(mutex);
    run();
  }
}

}  // namespace gantry
