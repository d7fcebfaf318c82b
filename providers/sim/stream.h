// SPDX-License-Identifier: Apache-2.0
// Streams, events and captures: a stream is a thread that runs queued work in order and late, an
// event a point in a stream that others wait for, a capture work recorded for many launches. Work
// of different streams runs in any order. Any thread may queue; the work runs on the stream's
// thread only.
#pragma once

#include <gantry/provider.h>
#include <gantry/sdk/mutex.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device.h"
#include "task.h"

namespace gantry::sim {

/// What went wrong in queued work; code GANTRY_OK: nothing.
struct Failure {
  gantry_code code = GANTRY_OK;
  std::string message;
  /// Throws it, unless there is none.
  void raise() const {
    if (code != GANTRY_OK) throw sdk::Error(code, message);
  }
};

/// Recorded work. Immutable once capture_end has returned it.
struct Capture {
  Device* device = nullptr;
  std::vector<Task> tasks;
};

class Event;

class Stream {
 public:
  explicit Stream(Device& device);
  /// Runs what is queued, then ends.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Queues work that starts when all before it is done and the latency has passed, or records it.
  /// What it throws is kept for synchronize, and skips the work queued behind it until then.
  void enqueue(const Task& task);
  /// Waits for all work; throws the first error of it, once.
  void synchronize();
  /// What failed and has not been reported by synchronize.
  [[nodiscard]] Failure failure();

  void capture_begin();
  std::unique_ptr<Capture> capture_end();
  /// Requires the capture to live until the work is done.
  void launch(const Capture& capture);

  /// An event for what other devices wait for before they copy from this one; recorded on this
  /// stream only, so that a wait for an earlier record is not ended by a later one.
  Event& given();

  [[nodiscard]] Device& device() { return device_; }

 private:
  void push(const Task& task);
  Task pop() GANTRY_REQUIRES(mutex_);
  void serve();
  void run(const Task& task);
  void execute(const Task& task);
  void apply_faults(const Task& task);
  void sleep_latency();

  Device& device_;
  const uint32_t number_;
  std::mt19937_64 random_;  // of the stream's thread
  sdk::Mutex mutex_;
  sdk::CondVar changed_;
  std::vector<Task> ring_ GANTRY_GUARDED_BY(mutex_);  // grows when it is full
  size_t first_ GANTRY_GUARDED_BY(mutex_) = 0;
  size_t count_ GANTRY_GUARDED_BY(mutex_) = 0;
  bool is_busy_ GANTRY_GUARDED_BY(mutex_) = false;
  bool is_ending_ GANTRY_GUARDED_BY(mutex_) = false;
  Failure failure_ GANTRY_GUARDED_BY(mutex_);
  std::unique_ptr<Capture> recording_;  // of the capturing thread
  std::unique_ptr<Event> given_;        // made on first use
  std::thread thread_;                  // last: it uses all of the above
};

/// What is recorded later replaces what was recorded before; an event that was never recorded is
/// complete.
class Event {
 public:
  explicit Event(Device& device) : device_(device), state_(take_state()) {}
  ~Event() { give_state(state_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream& stream);
  /// Later work of `stream` waits for what is recorded now.
  void wait(Stream& stream);
  /// Waits; throws what failed before the event, which synchronize of its stream reports too.
  void synchronize();
  /// Whether it is complete, without waiting; throws as synchronize.
  bool query();
  [[nodiscard]] Device& device() { return device_; }

 private:
  // Used by queued work, which may outlive the event: states are kept for the next event, and their
  // numbers only grow.
  struct State {
    sdk::Mutex mutex;
    sdk::CondVar changed;
    uint64_t recorded GANTRY_GUARDED_BY(mutex) = 0;
    uint64_t completed GANTRY_GUARDED_BY(mutex) = 0;
    Failure failure GANTRY_GUARDED_BY(mutex);  // of the stream when it was completed last
    void complete(uint64_t number, Failure found);
    Failure wait(uint64_t number);
  };
  struct States;
  static States& states();
  static State* take_state();
  static void give_state(State* state);

  Device& device_;
  State* state_;
  uint64_t number_ = 0;  // recorded last; 0: never
};

}  // namespace gantry::sim
