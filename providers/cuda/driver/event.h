// SPDX-License-Identifier: Apache-2.0
// Events, which mark a point in a stream's work for other streams and the host. Any thread. Methods
// throw DEVICE_LOST and DEVICE_ERROR.
#pragma once

#include <cstdint>
#include <memory>

#include "driver/stream.h"

namespace gantry::cuda {

/// An event that was never recorded is complete.
class Event {
 public:
  explicit Event(Device& device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Marks the end of the work that is on the stream now.
  void record(Stream& stream);
  /// Lets later work on `stream` wait for the event. Blocks the caller if a copy to the host that
  /// precedes the event is unfinished, because the host does its last step.
  void wait(Stream& stream);
  /// Waits for the event and finishes the copies to the host that precede it.
  void synchronize();
  /// Whether the event is complete; if it is, finishes the copies likewise.
  [[nodiscard]] bool query();
  [[nodiscard]] Device& device() const { return device_; }

 private:
  void finish();

  Device& device_;
  EventHandle handle_ = nullptr;
  std::shared_ptr<PendingCopies> pending_copies_;  // of the stream of the last record()
  uint64_t number_ = 0;                            // last copy before the event
};

}  // namespace gantry::cuda
