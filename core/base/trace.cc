// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <unistd.h>

namespace gantry {
namespace {

constexpr size_t kChunkBytes = size_t{256} << 10;
constexpr size_t kMostChunks = Trace::kMostBytes / kChunkBytes;
constexpr size_t kMostOpen = 32;
constexpr size_t kMostName = 64;

std::atomic<uint64_t> last_id = 0;

size_t rounded_up(size_t size_bytes) {
  return (size_bytes + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
}

}  // namespace

struct Trace::Chunk {
  std::atomic<size_t> used = 0;  // published after the record is complete
  alignas(TraceRecord) std::array<std::byte, kChunkBytes> bytes;
};

// Written by one thread, read by any.
struct Trace::Buffer {
  struct Open {
    uint64_t start_ns = 0;
    size_t length = 0;
    std::array<char, kMostName> name;
  };

  ~Buffer() {
    for (size_t i = 0; i < count; ++i) delete chunks[i].load();
  }

  uint32_t thread = 0;
  std::atomic<size_t> count = 0;
  std::atomic<uint64_t> dropped = 0;
  std::array<std::atomic<Chunk*>, kMostChunks> chunks = {};
  std::array<Open, kMostOpen> open;
  size_t depth = 0;  // of open spans, including those beyond kMostOpen
};

Trace::Trace(uint64_t most_bytes)
    : id_(++last_id),
      start_ns_(now()),
      most_chunks_(std::min<uint64_t>(most_bytes / kChunkBytes, kMostChunks)) {}

Trace::~Trace() = default;

uint64_t Trace::now() noexcept {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// A thread that has ended and a later one with the same id share a buffer; they never write at
// once.
Trace::Buffer& Trace::buffer() noexcept {
  thread_local uint64_t known_trace = 0;
  thread_local Buffer* known = nullptr;
  if (known_trace == id_) [[likely]]
    return *known;
  const auto thread = static_cast<uint32_t>(gettid());
  const MutexLock lock(mutex_);
  auto found = std::find_if(buffers_.begin(), buffers_.end(),
                            [&](const auto& buffer) { return buffer->thread == thread; });
  if (found == buffers_.end()) {
    found = buffers_.insert(found, std::make_unique<Buffer>());
    (*found)->thread = thread;
  }
  known = found->get();
  known_trace = id_;
  return *known;
}

// Appends a record, whose payload is the concatenated parts.
void Trace::write(TraceRecord record, std::span<const std::string_view> parts) noexcept {
  Buffer& target = buffer();
  for (const std::string_view part : parts) record.payload_bytes += part.size();
  const size_t size_bytes = sizeof(record) + rounded_up(record.payload_bytes);
  Chunk* chunk = chunk_with_room(target, size_bytes);
  if (!chunk) {
    target.dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const size_t used = chunk->used.load(std::memory_order_relaxed);
  std::byte* at = chunk->bytes.data() + used;
  std::memcpy(at, &record, sizeof(record));
  at += sizeof(record);
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    std::memcpy(at, part.data(), part.size());
    at += part.size();
  }
  chunk->used.store(used + size_bytes, std::memory_order_release);
}

// Null: the budget is used up.
Trace::Chunk* Trace::chunk_with_room(Buffer& target, size_t size_bytes) noexcept {
  const size_t count = target.count.load(std::memory_order_relaxed);
  if (count > 0) {
    Chunk* chunk = target.chunks[count - 1].load(std::memory_order_relaxed);
    if (chunk->used.load(std::memory_order_relaxed) + size_bytes <= kChunkBytes) return chunk;
  }
  if (size_bytes > kChunkBytes || chunks_.load(std::memory_order_relaxed) >= most_chunks_ ||
      chunks_.fetch_add(1) >= most_chunks_)
    return nullptr;
  auto* chunk = new (std::nothrow) Chunk;
  if (!chunk) return nullptr;
  target.chunks[count].store(chunk, std::memory_order_relaxed);
  target.count.store(count + 1, std::memory_order_release);
  return chunk;
}

void Trace::add_span(const char* category, std::string_view name, std::string_view detail,
                     uint64_t start_ns, uint64_t end_ns) noexcept {
  if (!keeps_records()) return;
  constexpr char kSeparator = 0;
  const std::array<std::string_view, 3> parts = {name, {&kSeparator, 1}, detail};
  write({start_ns, end_ns - start_ns, category, TraceKind::kSpan, 0, 0}, parts);
}

void Trace::add(TraceKind kind, const void* subject, uint32_t track, uint64_t start_ns,
                uint64_t end_ns, std::span<const int64_t> payload) noexcept {
  if (!keeps_records()) return;
  const std::string_view part(reinterpret_cast<const char*>(payload.data()), payload.size_bytes());
  write({start_ns, end_ns - start_ns, subject, kind, track, 0}, {&part, 1});
}

void Trace::open(std::string_view name) noexcept {
  if (!keeps_records()) return;
  Buffer& target = buffer();
  if (target.depth < kMostOpen) {
    Buffer::Open& open = target.open[target.depth];
    open.length = std::min(name.size(), kMostName);
    if (open.length > 0) std::memcpy(open.name.data(), name.data(), open.length);
    open.start_ns = now();
  }
  ++target.depth;
}

void Trace::close() noexcept {
  if (!keeps_records()) return;
  Buffer& target = buffer();
  if (target.depth == 0 || --target.depth >= kMostOpen) return;
  const Buffer::Open& open = target.open[target.depth];
  add_span("provider", {open.name.data(), open.length}, {}, open.start_ns, now());
}

uint32_t Trace::add_track(TraceTrack track) {
  const MutexLock lock(mutex_);
  tracks_.push_back(std::move(track));
  return static_cast<uint32_t>(tracks_.size() - 1);
}

std::vector<TraceTrack> Trace::tracks() const {
  const MutexLock lock(mutex_);
  return tracks_;
}

void Trace::read(const std::function<void(uint32_t thread, const TraceRecord&)>& take) const {
  std::vector<const Buffer*> buffers;
  {
    const MutexLock lock(mutex_);
    for (const auto& buffer : buffers_) buffers.push_back(buffer.get());
  }
  for (const Buffer* buffer : buffers) {
    const size_t count = buffer->count.load(std::memory_order_acquire);
    for (size_t i = 0; i < count; ++i) {
      const Chunk& chunk = *buffer->chunks[i].load(std::memory_order_relaxed);
      const size_t used = chunk.used.load(std::memory_order_acquire);
      for (size_t at = 0; at < used;) {
        const auto& record = *reinterpret_cast<const TraceRecord*>(chunk.bytes.data() + at);
        take(buffer->thread, record);
        at += sizeof(record) + rounded_up(record.payload_bytes);
      }
    }
  }
}

uint64_t Trace::dropped() const {
  const MutexLock lock(mutex_);
  uint64_t dropped = 0;
  for (const auto& buffer : buffers_) dropped += buffer->dropped.load(std::memory_order_relaxed);
  return dropped;
}

}  // namespace gantry
