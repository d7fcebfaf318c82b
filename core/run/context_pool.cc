// SPDX-License-Identifier: Apache-2.0
#include "run/context_pool.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace gantry {

ContextPool::ContextPool(size_t most, Make make) : most_(most), make_(std::move(make)) {
  free_.reserve(most_);  // release() must not fail
}

ContextPool::~ContextPool() = default;

bool ContextPool::has_room() const { return !free_.empty() || contexts_.size() < most_; }

void ContextPool::wake_first() {
  if (!waiting_.empty() && has_room()) waiting_.front()->changed.notify_one();
}

// Null: there is room for this run, which is out of the queue.
ExecutionContext* ContextPool::wait(const RunLimits& limits) {
  constexpr std::chrono::milliseconds kBetweenQuestions{5};  // whether the run shall stop
  Waiter self;
  waiting_.push_back(&self);
  while (!self.granted && !(waiting_.front() == &self && has_room())) {
    if (!limits.can_stop()) {
      self.changed.wait(mutex_);
      continue;
    }
    if (const Code code = limits.stop_code(); code != Code::kOk) {
      std::erase(waiting_, &self);
      wake_first();
      throw stop_error(code);
    }
    self.changed.wait_for(mutex_, kBetweenQuestions);
  }
  if (!self.granted) waiting_.pop_front();
  return self.granted;
}

ExecutionContext* ContextPool::acquire(const RunLimits& limits) {
  size_t number = 0;
  {
    const MutexLock lock(mutex_);
    if (!has_room()) {
      if (ExecutionContext* granted = wait(limits)) return granted;
    }
    if (!free_.empty()) {
      ExecutionContext* context = free_.back();
      free_.pop_back();
      wake_first();
      return context;
    }
    number = contexts_.size();
    contexts_.push_back(nullptr);
    wake_first();
  }
  std::unique_ptr<ExecutionContext> made;
  try {
    made = make_(number);
  } catch (...) {
    const MutexLock lock(mutex_);
    static_cast<void>(take_out(nullptr));
    throw;
  }
  const MutexLock lock(mutex_);
  const auto room = std::find(contexts_.begin(), contexts_.end(), nullptr);
  *room = std::move(made);
  return room->get();
}

void ContextPool::release(ExecutionContext* context) {
  const MutexLock lock(mutex_);
  GANTRY_ASSERT(std::find(free_.begin(), free_.end(), context) == free_.end(),
                "a context serves one run at a time");
  const bool is_due =
      !waiting_.empty() && std::chrono::steady_clock::now() - waiting_.front()->since >= kOvertaken;
  if (is_due) {
    Waiter& first = *waiting_.front();
    waiting_.pop_front();
    first.granted = context;
    first.changed.notify_one();
  } else {
    free_.push_back(context);
  }
  wake_first();
}

std::unique_ptr<ExecutionContext> ContextPool::take_out(const ExecutionContext* context) {
  const auto place = std::find_if(contexts_.begin(), contexts_.end(),
                                  [&](const auto& other) { return other.get() == context; });
  std::unique_ptr<ExecutionContext> taken = std::move(*place);
  contexts_.erase(place);
  wake_first();
  return taken;
}

std::unique_ptr<ExecutionContext> ContextPool::remove(ExecutionContext* context) {
  const MutexLock lock(mutex_);
  return take_out(context);
}

std::vector<std::unique_ptr<ExecutionContext>> ContextPool::remove_all() {
  const MutexLock lock(mutex_);
  GANTRY_ASSERT(free_.size() == contexts_.size() && waiting_.empty(), "a run is under way");
  free_.clear();
  return std::exchange(contexts_, {});
}

size_t ContextPool::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

}  // namespace gantry
