// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"

namespace gantry {
namespace {

// Four classes for each power of two: at most a quarter is wasted, and similar sizes share blocks.
uint64_t size_class(uint64_t size_bytes) {
  if (size_bytes <= 256) return 256;
  const uint64_t step = std::bit_floor(size_bytes - 1) / 4;
  return (size_bytes + step - 1) / step * step;
}

// Used memory is faster to get than new memory, whose pages the system has to clear. So a request
// of many pages may get a block that is larger than its size class, up to this factor.
constexpr uint64_t kMostExcess = 8;
constexpr uint64_t kManyPages = uint64_t{64} << 10;

Block* take(Block*& list) noexcept {
  Block* block = list;
  list = std::exchange(block->next, nullptr);
  return block;
}
void put(Block*& list, Block* block) noexcept { block->next = std::exchange(list, block); }

}  // namespace

MemoryPool::~MemoryPool() {
  for (const auto& block : blocks_) {
    if (!block->is_lent) space_.free(block->data, block->size_bytes);
  }
}

void MemoryPool::require_unused() {
  if (empty_) return;
  blocks_.push_back(std::make_unique<Block>());
  empty_ = blocks_.back().get();
}

Block* MemoryPool::allocate(uint64_t size_bytes) {
  require_unused();  // first: if it throws, no memory is lost
  if (void* lent = arena_ ? arena_->lend(size_bytes) : nullptr) {
    Block* block = take(empty_);
    *block = {lent, size_bytes, 1, -1, this, true};
    return block;
  }
  const uint64_t size = size_class(size_bytes);
  const uint64_t most = size < kManyPages ? size : size * kMostExcess;
  for (auto it = free_.lower_bound(size); it != free_.end() && it->first <= most; ++it) {
    if (!it->second) continue;
    Block* block = take(it->second);
    block->users = 1;
    block->record = -1;
    return block;
  }
  free_.try_emplace(size);
  void* data = space_.allocate(size, give_back_);
  Block* block = take(empty_);
  *block = {data, size, 1, -1, this, false};
  held_bytes_ += size;
  return block;
}

bool MemoryPool::release(Block* block) noexcept {
  GANTRY_ASSERT(block->pool == this, "a block goes back to the pool that it came from");
  GANTRY_ASSERT(block->users > 0, "a block that goes back is in use");
  if (--block->users > 0) return false;
  if (block->is_lent) {
    arena_->take_back(block->data, block->size_bytes);
    *block = {};
    put(empty_, block);
    return true;
  }
  put(free_.find(block->size_bytes)->second, block);
  return true;
}

void MemoryPool::trim() noexcept {
  for (auto& [size, free] : free_) {
    while (free) {
      Block* block = take(free);
      space_.free(block->data, size);
      held_bytes_ -= size;
      block->data = nullptr;
      put(empty_, block);
    }
  }
}

}  // namespace gantry
