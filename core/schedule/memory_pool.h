// SPDX-License-Identifier: Apache-2.0
// Memory of one execution context: blocks that are served while a signature runs for the first time
// and for whatever diverges from its plan, and one arena per memory space for planned runs. One
// thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

struct gantry_device;
struct gantry_provider_api;

namespace gantry {

/// A memory space: the host's, or a device's own.
struct MemorySpace {
  const gantry_provider_api* api = nullptr;  ///< null: host memory
  gantry_device* device = nullptr;

  /// OUT_OF_MEMORY, or the device's own error.
  [[nodiscard]] void* allocate(uint64_t size_bytes) const;
  void free(void* memory) const noexcept;
};

/// A piece of memory, counted by the slots that use it.
struct Block {
  void* data = nullptr;
  uint64_t size_bytes = 0;
  uint32_t users = 0;
  int32_t record = -1;  ///< in the recorder of the run that allocated it, -1: none
  class MemoryPool* pool = nullptr;
};

/// Blocks by size class. A freed block is kept for the next request of its class, most recently
/// freed first.
class MemoryPool {
 public:
  explicit MemoryPool(MemorySpace space) : space_(space) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// A block of at least that size with one user.
  Block* allocate(uint64_t size_bytes);
  /// One user less; true if it was the last, and the block went back.
  bool release(Block* block);
  /// Gives free blocks back to the system.
  void trim();
  [[nodiscard]] uint64_t held_bytes() const { return held_bytes_; }
  [[nodiscard]] const MemorySpace& space() const { return space_; }

 private:
  MemorySpace space_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::map<uint64_t, std::vector<Block*>> free_;
  std::vector<Block*> empty_;  // headers without memory, for reuse
  uint64_t held_bytes_ = 0;
};

/// One growing allocation.
class Arena {
 public:
  explicit Arena(MemorySpace space) : space_(space) {}
  ~Arena() { space_.free(data_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  /// Memory of at least that size; the content is lost when it grows.
  std::byte* reserve(uint64_t size_bytes);
  [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }

 private:
  MemorySpace space_;
  void* data_ = nullptr;
  uint64_t size_bytes_ = 0;
};

}  // namespace gantry
