// SPDX-License-Identifier: Apache-2.0
// Streams and events: a stream is a thread that runs queued work in order and late, an event a
// point in a stream that others wait for. Any thread may queue; the work runs on the stream's
// thread only.
#pragma once

#include <gantry/provider.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "memory.h"

namespace gantry::sim {

/// A device in use.
struct Device {
  Device(const gantry_host* host_table, uint64_t capacity_bytes, uint64_t latency)
      : host(host_table), memory(capacity_bytes), latency_us(latency) {}
  const gantry_host* host;
  Memory memory;
  uint64_t latency_us;
};

class Stream {
 public:
  explicit Stream(Device& device);
  /// Runs what is queued, then ends.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Queues work that starts when all before it is done and the latency has passed. What it throws
  /// is kept for synchronize, and skips the work queued behind it until then.
  void enqueue(std::function<void()> work);
  /// Queues without latency, and runs also behind failed work: for events, which others wait for.
  void enqueue_mark(std::function<void()> work);
  /// Waits for all work; throws the first error of it, once.
  void synchronize();
  [[nodiscard]] Device& device() { return device_; }

 private:
  struct Work {
    std::function<void()> run;
    bool is_mark = false;
  };
  void push(Work work);
  void serve();
  void run(const Work& work);

  Device& device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool is_busy_ = false;
  bool is_ending_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses all of the above
};

/// What is recorded later replaces what was recorded before; an event that was never recorded is
/// complete.
class Event {
 public:
  explicit Event(Device& device) : device_(device), state_(std::make_shared<State>()) {}
  void record(Stream& stream);
  /// Later work of `stream` waits for what is recorded now.
  void wait(Stream& stream);
  void synchronize();
  [[nodiscard]] Device& device() { return device_; }

 private:
  // Shared with queued work, which may outlive the event.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t recorded = 0;
    uint64_t completed = 0;
    uint64_t record();
    uint64_t latest();
    void complete(uint64_t number);
    void wait(uint64_t number);
  };
  Device& device_;
  std::shared_ptr<State> state_;
};

}  // namespace gantry::sim
