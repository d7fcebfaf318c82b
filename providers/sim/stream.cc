// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

namespace gantry::sim {
namespace {

constexpr size_t kFirstRoom = 64;  // tasks

}  // namespace

Stream::Stream(Device& device)
    : device_(device),
      number_(device.next_stream()),
      random_(device.options.seed * 1000003 + device.id * 1009 + number_),
      ring_(kFirstRoom),
      thread_([this] { serve(); }) {
  ++device_.journal.streams;
}

Stream::~Stream() {
  {
    const sdk::MutexLock lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  --device_.journal.streams;
}

Event& Stream::given() {
  if (!given_) given_ = std::make_unique<Event>(device_);
  return *given_;
}

void Stream::enqueue(const Task& task) {
  device_.require_alive();
  if (!recording_) {
    push(task);
  } else if (task.is_mark()) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     device_.name() + ": an event cannot be recorded in a capture");
  } else {
    recording_->tasks.push_back(task);
  }
}

void Stream::push(const Task& task) {
  {
    const sdk::MutexLock lock(mutex_);
    if (count_ == ring_.size()) {
      std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(first_), ring_.end());
      first_ = 0;
      ring_.resize(2 * ring_.size());
    }
    ring_[(first_ + count_++) % ring_.size()] = task;
  }
  changed_.notify_all();
}

Task Stream::pop() {
  const Task task = ring_[first_];
  first_ = (first_ + 1) % ring_.size();
  --count_;
  return task;
}

void Stream::synchronize() {
  if (recording_) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     device_.name() + ": a stream cannot be waited for while it captures");
  }
  const sdk::MutexLock lock(mutex_);
  while (count_ > 0 || is_busy_) changed_.wait(mutex_);
  std::exchange(failure_, {}).raise();
  device_.require_alive();
}

Failure Stream::failure() {
  const sdk::MutexLock lock(mutex_);
  return failure_;
}

void Stream::capture_begin() {
  device_.require_alive();
  if (recording_) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, device_.name() + ": the stream captures already");
  }
  recording_ = std::make_unique<Capture>();
  recording_->device = &device_;
  ++Device::captures_here();
}

std::unique_ptr<Capture> Stream::capture_end() {
  if (!recording_) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, device_.name() + ": the stream does not capture");
  }
  --Device::captures_here();
  ++device_.journal.captures;
  ++device_.journal.captures_alive;
  return std::move(recording_);
}

void Stream::launch(const Capture& capture) {
  enqueue(Task(
      Journal::Kind::kLaunch, "", "launch",
      [this, &capture](const Memory&) {
        for (const Task& task : capture.tasks) execute(task);
      },
      false));
  ++device_.journal.launches;
}

void Stream::serve() {
  const sdk::MutexLock lock(mutex_);
  for (;;) {
    while (!is_ending_ && count_ == 0) changed_.wait(mutex_);
    if (count_ == 0) return;
    const Task task = pop();
    if (failure_.code != GANTRY_OK && !task.is_mark()) {
      if (count_ == 0) changed_.notify_all();
      continue;
    }
    is_busy_ = true;
    {
      const sdk::MutexUnlock unlock(mutex_);
      run(task);
    }
    is_busy_ = false;
    changed_.notify_all();
  }
}

void Stream::run(const Task& task) {
  try {
    if (task.is_mark()) {
      task.run(device_.memory);
    } else {
      sleep_latency();
      execute(task);
    }
  } catch (const sdk::Error& error) {
    const sdk::MutexLock lock(mutex_);
    if (failure_.code == GANTRY_OK) failure_ = {error.code(), error.what()};
  } catch (const std::exception& error) {
    const sdk::MutexLock lock(mutex_);
    if (failure_.code == GANTRY_OK) failure_ = {GANTRY_INTERNAL, error.what()};
  }
}

void Stream::sleep_latency() {
  const Options& options = device_.options;
  uint64_t wait_ns = options.latency_us * 1000;
  if (options.jitter_us > 0) wait_ns += random_() % (options.jitter_us * 1000 + 1);
  if (device_.faults()) wait_ns += device_.faults()->slow_ns;
  if (wait_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(wait_ns));
}

void Stream::execute(const Task& task) {
  device_.require_alive();
  Journal& journal = device_.journal;
  journal.write(device_.id, number_, task.kind(), false, task.name());
  if (task.kind() != Journal::Kind::kLaunch) apply_faults(task);
  task.run(device_.memory);
  if (task.kind() == Journal::Kind::kKernel) ++journal.kernels;
  if (task.kind() == Journal::Kind::kCopyIn) ++journal.copies_in;
  if (task.kind() == Journal::Kind::kCopyOut) ++journal.copies_out;
  if (task.kind() == Journal::Kind::kCopyBetween) ++journal.copies_between;
  journal.write(device_.id, number_, task.kind(), true, task.name());
}

void Stream::apply_faults(const Task& task) {
  const Faults* faults = device_.faults();
  if (task.kind() != Journal::Kind::kKernel) {
    if (faults && faults->copy.hits(device_.next_copy(), {}))
      throw sdk::Error(GANTRY_DEVICE_ERROR, device_.name() + ": a copy fails (the fault \"copy\")");
    return;
  }
  if (device_.options.rendezvous > 0)
    device_.rendezvous.arrive(device_.id, device_.options.rendezvous);
  if (!faults) return;
  const uint64_t number = device_.next_kernel();
  if (faults->device_lost.hits(number, task.op_type())) device_.lose();
  device_.require_alive();
  if (faults->run.hits(number, task.op_type())) {
    throw sdk::Error(GANTRY_DEVICE_ERROR,
                     device_.name() + ": " + task.name() + " fails (the fault \"run\")");
  }
  if (faults->hang.hits(number, task.op_type())) {
    do {
      std::this_thread::sleep_for(
          std::chrono::milliseconds(faults->hang_ms > 0 ? faults->hang_ms : 1000));
    } while (faults->hang_ms == 0);
  }
}

struct Event::States {
  sdk::Mutex mutex;
  std::deque<State> all GANTRY_GUARDED_BY(mutex);
  std::vector<State*> free GANTRY_GUARDED_BY(mutex);
};

// Never destroyed: a hanging stream may still use them at process exit.
Event::States& Event::states() {
  static auto* const instance = new States;
  return *instance;
}

Event::State* Event::take_state() {
  States& kept = states();
  const sdk::MutexLock lock(kept.mutex);
  if (kept.free.empty()) return &kept.all.emplace_back();
  State* state = kept.free.back();
  kept.free.pop_back();
  return state;
}

void Event::give_state(State* state) {
  States& kept = states();
  const sdk::MutexLock lock(kept.mutex);
  kept.free.push_back(state);
}

void Event::record(Stream& stream) {
  device_.require_alive();
  uint64_t number = 0;
  {
    const sdk::MutexLock lock(state_->mutex);
    number = ++state_->recorded;
  }
  stream.enqueue(Task(
      Journal::Kind::kKernel, "", "record",
      [state = state_, number, &stream](const Memory&) {
        state->complete(number, stream.failure());
      },
      true));
  number_ = number;
}

void Event::wait(Stream& stream) {
  stream.enqueue(Task(
      Journal::Kind::kKernel, "", "wait",
      [state = state_, number = number_](const Memory&) { state->wait(number).raise(); }, true));
}

void Event::synchronize() { state_->wait(number_).raise(); }

bool Event::query() {
  const sdk::MutexLock lock(state_->mutex);
  if (state_->completed < number_) return false;
  if (number_ > 0) state_->failure.raise();
  return true;
}

void Event::State::complete(uint64_t number, Failure found) {
  {
    const sdk::MutexLock lock(mutex);
    if (number < completed) return;  // from an event that was destroyed
    completed = number;
    failure = std::move(found);
  }
  changed.notify_all();
}

Failure Event::State::wait(uint64_t number) {
  const sdk::MutexLock lock(mutex);
  while (completed < number) changed.wait(mutex);
  return number > 0 ? failure : Failure{};
}

}  // namespace gantry::sim
