// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/shared_arena.h"

#include <gantry/error.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "base/alignment.h"
#include "base/assert.h"
#include "plugin/huge_pages.h"

namespace gantry {
namespace {

// A free block of this size or more is returned to the system. Smaller blocks are reused by the
// next run, for which fresh pages would cost more than the copy into them.
constexpr uint64_t kDropFrom = uint64_t{256} << 20;

std::shared_ptr<SharedMemory> make_memory() {
  constexpr uint64_t kLeastBytes = uint64_t{64} << 20;
  for (uint64_t size_bytes = SharedArena::kMostBytes; size_bytes > kLeastBytes; size_bytes /= 2) {
    try {
      std::shared_ptr<SharedMemory> memory = SharedMemory::create(size_bytes);
      if (size_bytes == SharedArena::kMostBytes) return memory;
    } catch (const Error&) {
      continue;
    }
    // The worker maps as much, and both have more to allocate.
    return SharedMemory::create(std::max(size_bytes / 4, kLeastBytes));
  }
  return SharedMemory::create(kLeastBytes);
}

uint64_t whole_pages(uint64_t size_bytes) {
  return round_up(std::max<uint64_t>(size_bytes, 1), SharedArena::kPage);
}

}  // namespace

SharedArena::Block& SharedArena::Block::operator=(Block&& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(offset_, other.offset_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

void SharedArena::Block::reset() noexcept {
  if (arena_) arena_->release(offset_, size_bytes_);
  arena_.reset();
  size_bytes_ = 0;
}

void SharedArena::Block::keep(uint64_t offset, uint64_t size_bytes) noexcept {
  const uint64_t begin = offset / kPage * kPage;
  const uint64_t end = std::min(whole_pages(offset + size_bytes), offset_ + size_bytes_);
  if (begin > offset_) arena_->release(offset_, begin - offset_);
  if (end < offset_ + size_bytes_) arena_->release(end, offset_ + size_bytes_ - end);
  offset_ = begin;
  size_bytes_ = end - begin;
}

std::byte* SharedArena::Block::data() const {
  return arena_ ? arena_->memory_->data() + offset_ : nullptr;
}

std::shared_ptr<SharedArena> SharedArena::create() {
  std::shared_ptr<SharedMemory> memory = make_memory();
  memory->seal_seals();
  return std::shared_ptr<SharedArena>(new SharedArena(std::move(memory)));
}

SharedArena::Block SharedArena::allocate(uint64_t size_bytes) {
  const uint64_t wanted = whole_pages(size_bytes);
  const MutexLock lock(mutex_);
  const auto range = std::find_if(free_.begin(), free_.end(),
                                  [&](const auto& free) { return free.second >= wanted; });
  if (wanted < size_bytes || range == free_.end()) {
    throw Error(Code::kOutOfMemory,
                "no room for " + std::to_string(size_bytes) + " bytes in the memory of " +
                    std::to_string(this->size_bytes()) + " that is shared with a worker process");
  }
  Block block;
  block.arena_ = shared_from_this();
  block.offset_ = range->first;
  block.size_bytes_ = wanted;
  // The rest of the range reuses its map node: if a new node could not be allocated, the block
  // would be released here, with the mutex held.
  auto rest = free_.extract(range);
  rest.key() += wanted;
  rest.mapped() -= wanted;
  if (rest.mapped() > 0) free_.insert(std::move(rest));
  if (wanted >= kHugePageBytes) gather(block.offset_ + wanted);
  return block;
}

// Requests huge pages up to `end`. The system gives shared memory small pages and collapses them
// only on request. Each range is requested once, since blocks are reused and collapsed pages stay
// huge. Both processes get huge pages if both mappings start at a huge page boundary, as large
// mappings do on Linux.
void SharedArena::gather(uint64_t end) noexcept {
  if (end <= gathered_) return;
  const uint64_t begin = gathered_ / kHugePageBytes * kHugePageBytes;
  gathered_ = end;
  try {
    const std::shared_ptr<std::byte> mapping(memory_, memory_->data());
    collapse_pages(mapping, memory_->data() + begin, end - begin);
  } catch (const std::bad_alloc&) {  // no memory for the request: the pages stay small
  }
}

SharedArena::Block SharedArena::allocate_spare(uint64_t size_bytes) {
  const uint64_t wanted = whole_pages(size_bytes);
  const MutexLock lock(mutex_);
  Block block;
  const auto range = std::find_if(free_.rbegin(), free_.rend(),
                                  [&](const auto& free) { return free.second >= wanted; });
  if (range == free_.rend()) return block;
  block.arena_ = shared_from_this();
  block.offset_ = range->first + range->second - wanted;
  block.size_bytes_ = wanted;
  range->second -= wanted;
  if (range->second == 0) free_.erase(range->first);
  return block;
}

void SharedArena::release(uint64_t offset, uint64_t size_bytes) noexcept {
  if (size_bytes == 0) return;
  // Spare ranges are not dropped: they are large, and most of their pages were never written.
  constexpr uint64_t kSpare = uint64_t{1} << 33;
  if (size_bytes >= kDropFrom && size_bytes < kSpare) memory_->drop(offset, size_bytes);
  const MutexLock lock(mutex_);
  auto next = free_.lower_bound(offset);
  GANTRY_ASSERT(next == free_.end() || offset + size_bytes <= next->first,
                "a range that goes back is not free already");
  GANTRY_ASSERT(next == free_.begin() || std::prev(next)->first + std::prev(next)->second <= offset,
                "a range that goes back is not free already");
  if (next != free_.end() && offset + size_bytes == next->first) {
    size_bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size_bytes;
      return;
    }
  }
  free_.emplace_hint(next, offset, size_bytes);
}

bool SharedArena::find(const void* data, uint64_t size_bytes, uint64_t& offset) const {
  const auto* at = static_cast<const std::byte*>(data);
  const std::byte* begin = memory_->data();
  if (at < begin || at >= begin + this->size_bytes()) return false;
  offset = static_cast<uint64_t>(at - begin);
  return size_bytes <= this->size_bytes() - offset;
}

}  // namespace gantry
