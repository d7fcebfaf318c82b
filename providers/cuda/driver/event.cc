// SPDX-License-Identifier: Apache-2.0
#include "driver/event.h"

namespace gantry::cuda {

Event::Event(Device& device) : device_(device) {
  device_.require_alive();
  const ContextScope inside(device_);
  device_.require(device_.driver.event_create(&handle_, kNoTiming), "making an event");
}

Event::~Event() {
  const ContextScope inside(device_, std::nothrow);
  device_.driver.event_destroy(handle_);
}

void Event::record(Stream& stream) {
  device_.require_alive();
  const ContextScope inside(device_);
  device_.require(device_.driver.event_record(handle_, stream.handle()), "recording an event");
  pending_copies_ = stream.pending_copies();
  number_ = pending_copies_->last();
}

void Event::wait(Stream& stream) {
  device_.require_alive();
  if (!pending_copies_) return;
  // A copy to the host is complete only after its last step from pinned memory, which the host
  // does.
  if (pending_copies_->has_until(number_)) synchronize();
  const ContextScope inside(device_);
  device_.require(device_.driver.stream_wait(stream.handle(), handle_, 0),
                  "letting a stream wait for an event");
}

void Event::synchronize() {
  if (!pending_copies_) return;
  const ContextScope inside(device_);
  device_.require(device_.driver.event_synchronize(handle_), "waiting for an event");
  finish();
}

bool Event::query() {
  if (!pending_copies_) return true;
  const ContextScope inside(device_);
  const int result = device_.driver.event_query(handle_);
  if (result == kNotReady) return false;
  device_.require(result, "asking for an event");
  finish();
  return true;
}

void Event::finish() { pending_copies_->finish(number_); }

}  // namespace gantry::cuda
