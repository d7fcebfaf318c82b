// SPDX-License-Identifier: Apache-2.0
// Blocks of an execution context, which are served while a signature runs for the first time and
// for whatever diverges from its plan. One thread at a time; how much is held may be asked by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "memory/arena.h"
#include "memory/memory_space.h"

namespace gantry {

/// A piece of memory, counted by the slots that use it.
struct Block {
  void* data = nullptr;
  uint64_t size_bytes = 0;
  uint32_t users = 0;
  int32_t record = -1;  ///< in the recorder of the run that allocated it, -1: none
  class MemoryPool* pool = nullptr;
  bool is_lent = false;   ///< by the arena
  Block* next = nullptr;  ///< in the list of the pool that it is in while nobody uses it
};

/// Blocks by size class, or without one from an arena that lends. A freed block is kept for the
/// next request of its class, most recently freed first, or for a smaller one that would need new
/// pages. Giving back takes no memory, so that it works when there is none.
class MemoryPool {
 public:
  /// `arena`: asked first, as long as it lends; null: there is none. It must outlive the pool.
  explicit MemoryPool(MemorySpace space, GiveBack give_back = nullptr, Arena* arena = nullptr)
      : space_(std::move(space)), give_back_(std::move(give_back)), arena_(arena) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// A block of at least that size with one user.
  Block* allocate(uint64_t size_bytes);
  /// One user less; true if it was the last, and the block went back.
  bool release(Block* block) noexcept;
  /// Gives free blocks back to the system.
  void trim() noexcept;
  [[nodiscard]] uint64_t held_bytes() const { return held_bytes_; }
  [[nodiscard]] const MemorySpace& space() const { return space_; }

 private:
  /// Afterwards `empty_` has a block.
  void require_unused();

  MemorySpace space_;
  GiveBack give_back_;
  Arena* arena_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::map<uint64_t, Block*> free_;  // lists, of every size that has been allocated
  Block* empty_ = nullptr;           // a list of blocks without memory, for reuse
  std::atomic<uint64_t> held_bytes_ = 0;
};

}  // namespace gantry
