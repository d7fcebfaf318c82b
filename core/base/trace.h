// SPDX-License-Identifier: Apache-2.0
// A trace: timed records of all threads, held in memory until they are written to a file. Each
// thread has its own buffer and records without a lock. Memory comes in chunks from a budget;
// records that no longer fit are counted and dropped. Code that records has a Trace pointer, which
// is null if no trace is taken. Recording and reading: any thread, also concurrently.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace gantry {

enum class TraceKind : uint32_t {
  kSpan,    ///< named by its payload: name, a zero byte, details
  kStep,    ///< a step of a program; payload: integers, see run/step_trace.h
  kPart,    ///< a part of a step on one thread of the pool; payload: first item, one past the last
  kDevice,  ///< a step on the stream of a device; payload: 0, or as for kReplay
  kReplay,  ///< a launched capture; subject: its first step; payload: its number of steps
  kMemory,  ///< payload: bytes of the arena, bytes of the pool
};

/// A record; its payload follows it in memory.
struct TraceRecord {
  uint64_t start_ns = 0;          ///< of Trace::now
  uint64_t duration_ns = 0;       ///< 0 for kMemory
  const void* subject = nullptr;  ///< the step; of a span its category, a `const char*`
  TraceKind kind = TraceKind::kSpan;
  uint32_t track = 0;  ///< of kDevice and kMemory, see Trace::add_track
  uint64_t payload_bytes = 0;

  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(this + 1), payload_bytes};
  }
  [[nodiscard]] std::span<const int64_t> numbers() const {
    return {reinterpret_cast<const int64_t*>(this + 1), payload_bytes / sizeof(int64_t)};
  }
};

/// A track of a trace besides the threads: the stream of a device, the memory of a context.
struct TraceTrack {
  std::string group;  ///< the device, or empty
  std::string name;
};

class Trace {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{32} << 20;

  /// `most_bytes`: memory for all records; 0: no records, for a session that only sums up times.
  explicit Trace(uint64_t most_bytes = kMostBytes);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The steady clock, in nanoseconds.
  static uint64_t now() noexcept;
  [[nodiscard]] bool keeps_records() const { return most_chunks_ > 0; }
  [[nodiscard]] uint64_t start_ns() const { return start_ns_; }

  /// Adds a record of this thread. Allocates a chunk if the last one is full, else nothing.
  void add_span(const char* category, std::string_view name, std::string_view detail,
                uint64_t start_ns, uint64_t end_ns) noexcept;
  void add(TraceKind kind, const void* subject, uint32_t track, uint64_t start_ns, uint64_t end_ns,
           std::span<const int64_t> payload) noexcept;
  /// Opens and closes a span of this thread. At most 32 spans may be nested; names are truncated to
  /// 64 bytes. close() without open() has no effect.
  void open(std::string_view name) noexcept;
  void close() noexcept;

  /// Adds a track; returns its number. Takes a lock.
  uint32_t add_track(TraceTrack track);
  [[nodiscard]] std::vector<TraceTrack> tracks() const;

  /// Calls `take` for every record so far. `thread`: the system's thread id. The records of a
  /// thread come in the order in which they were made, so an outer span after its inner ones.
  void read(const std::function<void(uint32_t thread, const TraceRecord&)>& take) const;
  [[nodiscard]] uint64_t dropped() const;

 private:
  struct Chunk;
  struct Buffer;
  Buffer& buffer() noexcept;
  Chunk* chunk_with_room(Buffer& target, size_t size_bytes) noexcept;
  void write(TraceRecord record, std::span<const std::string_view> parts) noexcept;

  const uint64_t id_;  // unique among all traces of the process
  const uint64_t start_ns_;
  const uint64_t most_chunks_;
  std::atomic<uint64_t> chunks_ = 0;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Buffer>> buffers_ GANTRY_GUARDED_BY(mutex_);
  std::vector<TraceTrack> tracks_ GANTRY_GUARDED_BY(mutex_);
};

/// Records a span from construction to destruction, unless `trace` is null or keeps no records.
/// `category`: a literal. The texts must outlive the span.
class TraceSpan {
 public:
  TraceSpan(Trace* trace, const char* category, std::string_view name, std::string_view detail = {})
      : trace_(trace && trace->keeps_records() ? trace : nullptr),
        category_(category),
        name_(name),
        detail_(detail),
        start_ns_(trace_ ? Trace::now() : 0) {}
  ~TraceSpan() {
    if (trace_) trace_->add_span(category_, name_, detail_, start_ns_, Trace::now());
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  Trace* trace_;
  const char* category_;
  std::string_view name_;
  std::string_view detail_;
  uint64_t start_ns_;
};

}  // namespace gantry
