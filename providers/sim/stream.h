// SPDX-License-Identifier: Apache-2.0
// Streams, events and captures. A stream is a thread that runs queued work in order, after a
// latency. An event is a point in a stream that others wait for. A capture is recorded work that
// can be launched many times. Work of different streams runs in any order. Any thread may enqueue.
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

/// The error of queued work; code GANTRY_OK: none.
struct Failure {
  gantry_code code = GANTRY_OK;
  std::string message;
  /// Throws the error, if there is one.
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

/// A queue of work and the thread that runs it.
class Stream {
 public:
  explicit Stream(Device& device);
  /// Runs all queued work, then joins the thread.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Enqueues a task, or records it during a capture. The task starts after all earlier work and
  /// the latency. If it throws, later work is skipped until synchronize() reports the error.
  void enqueue(const Task& task);
  /// Waits for all queued work; throws its first error, once.
  void synchronize();
  /// The error that synchronize() has not reported yet.
  [[nodiscard]] Failure failure();

  /// Work enqueued until capture_end() is recorded instead of run. Both are called by one thread.
  void capture_begin();
  std::unique_ptr<Capture> capture_end();
  /// Enqueues the recorded work. `capture` must live until that work is done.
  void launch(const Capture& capture);

  /// The event that other devices wait for before they copy from this one. It is recorded on this
  /// stream only, so that later records cannot complete earlier waits.
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

/// An event. A later record() replaces an earlier one; an event that was never recorded is
/// complete.
class Event {
 public:
  explicit Event(Device& device) : device_(device), state_(take_state()) {}
  ~Event() { give_state(state_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream& stream);
  /// Later work of `stream` waits for the latest record() before this call.
  void wait(Stream& stream);
  /// Waits for completion. Throws the error of work before the event, which the stream's
  /// synchronize() also reports.
  void synchronize();
  /// True if the event is complete; does not wait. Throws as synchronize().
  bool query();
  [[nodiscard]] Device& device() { return device_; }

 private:
  // State shared with queued work, which may outlive the event. States are reused by later events,
  // and their numbers only grow.
  struct State {
    sdk::Mutex mutex;
    sdk::CondVar changed;
    uint64_t recorded GANTRY_GUARDED_BY(mutex) = 0;
    uint64_t completed GANTRY_GUARDED_BY(mutex) = 0;
    Failure failure GANTRY_GUARDED_BY(mutex);  // of the stream at the last completion
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
