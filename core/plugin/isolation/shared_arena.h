// SPDX-License-Identifier: Apache-2.0
// The memory through which tensors go to a worker process and back: one large sealed mapping, of
// which only what was written takes up memory. The owner of the process hands out blocks of it; the
// worker gets offsets. What large blocks have been used for gets huge pages, as tensors of the
// process have; this is seen by both sides. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "plugin/isolation/shared_memory.h"

namespace gantry {

class SharedArena : public std::enable_shared_from_this<SharedArena> {
 public:
  /// Blocks start and end at a multiple of this.
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kSizeBytes = uint64_t{1} << 38;

  /// A range of the arena, given back with its owner.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept;
    ~Block() { reset(); }
    void reset() noexcept;
    /// Gives back all but `size_bytes` (rounded up to pages) from `offset` on, which is in it.
    void keep(uint64_t offset, uint64_t size_bytes) noexcept;

    [[nodiscard]] uint64_t offset() const { return offset_; }
    [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }
    /// Null without memory.
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

  /// OUT_OF_MEMORY.
  static std::shared_ptr<SharedArena> create();

  /// The lowest free range, so that memory that was used before is used again. OUT_OF_MEMORY.
  Block allocate(uint64_t size_bytes);
  /// A range at the upper end, for what need not fit below; may be empty.
  Block allocate_spare(uint64_t size_bytes);

  [[nodiscard]] const SharedMemory& memory() const { return *memory_; }
  /// Where `data` lies in the arena; false: elsewhere.
  [[nodiscard]] bool find(const void* data, uint64_t size_bytes, uint64_t& offset) const;

 private:
  SharedArena() : free_{{0, kSizeBytes}} {}
  void release(uint64_t offset, uint64_t size_bytes) noexcept;
  void gather(uint64_t end) noexcept GANTRY_REQUIRES(mutex_);

  std::shared_ptr<SharedMemory> memory_;
  Mutex mutex_;
  // The offset up to which huge pages were asked for.
  uint64_t gathered_ GANTRY_GUARDED_BY(mutex_) = 0;
  // Offset -> bytes; neighbours are joined.
  std::map<uint64_t, uint64_t> free_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry
