// SPDX-License-Identifier: Apache-2.0
// Shared memory for the tensors that a worker process reads and writes: one large sealed mapping,
// which uses physical memory only for written pages. This process allocates blocks of it; the
// worker receives offsets. Used ranges of large blocks get huge pages, which both sides see. Any
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "plugin/isolation/shared_memory.h"

namespace gantry {

class SharedArena : public std::enable_shared_from_this<SharedArena> {
 public:
  /// Blocks start and end at a multiple of this.
  static constexpr uint64_t kPage = 4096;
  /// Its size where the address space has room for that.
  static constexpr uint64_t kMostBytes = uint64_t{1} << 38;

  /// A range of the arena, freed by the destructor.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept;
    ~Block() { reset(); }
    void reset() noexcept;
    /// Frees all but `size_bytes` (rounded up to pages) from `offset` on, which must be in the
    /// block.
    void keep(uint64_t offset, uint64_t size_bytes) noexcept;

    [[nodiscard]] uint64_t offset() const { return offset_; }
    [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }
    /// Null for an empty block.
    [[nodiscard]] std::byte* data() const;
    [[nodiscard]] bool contains(uint64_t offset, uint64_t size_bytes) const {
      return offset >= offset_ && offset - offset_ <= size_bytes_ &&
             size_bytes <= size_bytes_ - (offset - offset_);
    }

   private:
    friend class SharedArena;
    std::shared_ptr<SharedArena> arena_;
    uint64_t offset_ = 0;
    uint64_t size_bytes_ = 0;
  };

  /// Of kMostBytes; where the address space has no room for them (a limit of it, an emulator), a
  /// quarter of what it has room for. OUT_OF_MEMORY.
  static std::shared_ptr<SharedArena> create();

  /// Allocates the lowest free range, so that used pages are reused. OUT_OF_MEMORY.
  Block allocate(uint64_t size_bytes);
  /// Allocates at the upper end, as spare room for outputs of unknown size; empty: no such range.
  Block allocate_spare(uint64_t size_bytes);

  [[nodiscard]] const SharedMemory& memory() const { return *memory_; }
  [[nodiscard]] uint64_t size_bytes() const { return memory_->size_bytes(); }
  /// Sets the offset of `data` in the arena; false: the range is not in the arena.
  [[nodiscard]] bool find(const void* data, uint64_t size_bytes, uint64_t& offset) const;

 private:
  explicit SharedArena(std::shared_ptr<SharedMemory> memory)
      : memory_(std::move(memory)), free_{{0, memory_->size_bytes()}} {}
  void release(uint64_t offset, uint64_t size_bytes) noexcept;
  void gather(uint64_t end) noexcept GANTRY_REQUIRES(mutex_);

  std::shared_ptr<SharedMemory> memory_;
  Mutex mutex_;
  // Offset up to which huge pages have been requested.
  uint64_t gathered_ GANTRY_GUARDED_BY(mutex_) = 0;
  // Offset -> size of the free ranges; adjacent ranges are merged.
  std::map<uint64_t, uint64_t> free_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry
