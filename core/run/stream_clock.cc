// SPDX-License-Identifier: Apache-2.0
#include "run/stream_clock.h"

#include <algorithm>
#include <array>

#include "plugin/error.h"

namespace gantry {

StreamClock::StreamClock(const MemorySpace& space, gantry_stream* stream, Trace& trace,
                         uint32_t track)
    : space_(space), stream_(stream), trace_(trace), track_(track), thread_([this] { serve(); }) {}

StreamClock::~StreamClock() {
  {
    const MutexLock lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (gantry_event* event : free_) space_.api->event_destroy(event);
}

void StreamClock::mark(const void* step, uint64_t issued_ns, uint32_t replayed) {
  gantry_event* event = nullptr;
  {
    const MutexLock lock(mutex_);
    if (!free_.empty()) {
      event = free_.back();
      free_.pop_back();
    }
  }
  gantry_error* error = event ? nullptr : space_.api->event_create(space_.device, &event);
  if (!error) error = space_.api->event_record(event, stream_);
  {
    const MutexLock lock(mutex_);
    if (error) {
      if (event) free_.push_back(event);
    } else {
      marks_.push_back({event, step, issued_ns, replayed});
    }
  }
  release_error(error);
  changed_.notify_all();
}

void StreamClock::drain() noexcept {
  const MutexLock lock(mutex_);
  while (!marks_.empty() || is_busy_) changed_.wait(mutex_);
}

void StreamClock::serve() {
  uint64_t last_ns = 0;
  const MutexLock lock(mutex_);
  for (;;) {
    while (!is_ending_ && marks_.empty()) changed_.wait(mutex_);
    if (marks_.empty()) return;
    const Mark mark = marks_.front();
    marks_.pop_front();
    is_busy_ = true;
    {
      const MutexUnlock unlock(mutex_);
      release_error(space_.api->event_synchronize(mark.event));
      const uint64_t now_ns = Trace::now();
      // A stream works in order: a step began when it was issued or, if later, when the step before
      // it was done.
      const std::array<int64_t, 1> payload = {static_cast<int64_t>(mark.replayed)};
      trace_.add(TraceKind::kDevice, mark.step, track_, std::max(mark.issued_ns, last_ns), now_ns,
                 payload);
      last_ns = now_ns;
    }
    free_.push_back(mark.event);
    is_busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace gantry
