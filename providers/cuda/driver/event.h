// SPDX-License-Identifier: Apache-2.0
// Events: what other streams and the host wait for. Any thread.
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

  void record(Stream& stream);
  void wait(Stream& stream);
  void synchronize();
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
