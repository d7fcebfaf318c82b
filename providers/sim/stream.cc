// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gantry::sim {

Stream::Stream(Device& device) : device_(device), thread_([this] { serve(); }) {}

Stream::~Stream() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::enqueue(std::function<void()> work) { push({std::move(work), false}); }

void Stream::enqueue_mark(std::function<void()> work) { push({std::move(work), true}); }

void Stream::push(Work work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void Stream::synchronize() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !is_busy_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Stream::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Work work = std::move(queue_.front());
    queue_.pop_front();
    if (failure_ && !work.is_mark) {
      if (queue_.empty()) changed_.notify_all();
      continue;
    }
    is_busy_ = true;
    lock.unlock();
    run(work);
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

void Stream::run(const Work& work) {
  if (!work.is_mark && device_.latency_us > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(device_.latency_us));
  }
  try {
    work.run();
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

void Event::record(Stream& stream) {
  const uint64_t number = state_->record();
  stream.enqueue_mark([state = state_, number] { state->complete(number); });
}

void Event::wait(Stream& stream) {
  stream.enqueue_mark([state = state_, number = state_->latest()] { state->wait(number); });
}

void Event::synchronize() { state_->wait(state_->latest()); }

uint64_t Event::State::record() {
  const std::lock_guard<std::mutex> lock(mutex);
  return ++recorded;
}

uint64_t Event::State::latest() {
  const std::lock_guard<std::mutex> lock(mutex);
  return recorded;
}

void Event::State::complete(uint64_t number) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    completed = std::max(completed, number);
  }
  changed.notify_all();
}

void Event::State::wait(uint64_t number) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return completed >= number; });
}

}  // namespace gantry::sim
