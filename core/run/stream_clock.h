// SPDX-License-Identifier: Apache-2.0
// Traces when the work on a stream was done. Records an event after each step; a thread of its own
// waits for the events and takes the time. Exists only while a trace is taken. Needs only the
// events that every device with memory has. Used by the thread of the run.
#pragma once

#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/trace.h"
#include "memory/memory_pool.h"

struct gantry_event;
struct gantry_stream;

namespace gantry {

class StreamClock {
 public:
  /// All must outlive the clock. `track`: of the trace, for the stream's records.
  StreamClock(const MemorySpace& space, gantry_stream* stream, Trace& trace, uint32_t track);
  /// Waits for all marks.
  ~StreamClock();
  StreamClock(const StreamClock&) = delete;
  StreamClock& operator=(const StreamClock&) = delete;

  /// Marks the end of `step` on the stream, or, if `replayed` is not 0, of the `replayed` steps
  /// from `step` on. The host issued the step at `issued_ns`. If the event cannot be recorded,
  /// there is no trace record.
  void mark(const void* step, uint64_t issued_ns, uint32_t replayed);
  /// Waits until every mark has been timed.
  void drain() noexcept;

 private:
  struct Mark {
    gantry_event* event = nullptr;
    const void* step = nullptr;
    uint64_t issued_ns = 0;
    uint32_t replayed = 0;
  };
  void serve();

  const MemorySpace& space_;
  gantry_stream* stream_;
  Trace& trace_;
  const uint32_t track_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Mark> marks_ GANTRY_GUARDED_BY(mutex_);
  std::vector<gantry_event*> free_ GANTRY_GUARDED_BY(mutex_);
  bool is_busy_ GANTRY_GUARDED_BY(mutex_) = false;
  bool is_ending_ GANTRY_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace gantry
