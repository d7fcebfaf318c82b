// SPDX-License-Identifier: Apache-2.0
// Memory blocks of an execution context, for the first run of a signature and for requests that
// diverge from a plan. One thread at a time; held_bytes() by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "memory/arena.h"
#include "memory/memory_space.h"

namespace gantry {

/// A piece of memory with a count of the slots that use it.
struct Block {
  void* data = nullptr;
  uint64_t size_bytes = 0;
  uint32_t users = 0;
  int32_t record = -1;  ///< index in the recorder of the run that allocated it; -1: none
  class MemoryPool* pool = nullptr;
  bool is_lent = false;   ///< the memory is lent by the arena
  Block* next = nullptr;  ///< in the pool's free list, while the block is unused
};

/// A pool of blocks by size class; an arena that lends is tried first. A freed block is reused for
/// the next request of its class, most recently freed first, or for a smaller request that would
/// need new pages. trim() allocates nothing, so that it works when there is no memory left.
class MemoryPool {
 public:
  /// `arena`: tried first, as long as it lends; must outlive the pool; null: none.
  explicit MemoryPool(MemorySpace space, GiveBack give_back = nullptr, Arena* arena = nullptr)
      : space_(std::move(space)), give_back_(std::move(give_back)), arena_(arena) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// A block of at least that size with one user. OUT_OF_MEMORY, as MemorySpace::allocate.
  Block* allocate(uint64_t size_bytes);
  /// Removes one user; true if it was the last, and the block is free again.
  bool release(Block* block) noexcept;
  /// Frees the memory of unused blocks.
  void trim() noexcept;
  [[nodiscard]] uint64_t held_bytes() const { return held_bytes_; }
  [[nodiscard]] const MemorySpace& space() const { return space_; }

 private:
  /// Makes sure that `empty_` has a block.
  void require_unused();

  MemorySpace space_;
  GiveBack give_back_;
  Arena* arena_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::map<uint64_t, Block*> free_;  // free lists, by size of the blocks
  Block* empty_ = nullptr;           // list of blocks without memory, for reuse
  std::atomic<uint64_t> held_bytes_ = 0;
};

}  // namespace gantry
