// SPDX-License-Identifier: Apache-2.0
// Anonymous memory (memfd) mapped by two processes. It has no name, so nothing remains after them,
// and it is sealed, so that neither side can truncate it. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/descriptor.h"

namespace gantry {

class SharedMemory {
 public:
  /// New memory, zeroed; uses physical memory only for written pages. Its size is fixed.
  /// OUT_OF_MEMORY.
  static std::shared_ptr<SharedMemory> create(uint64_t size_bytes);
  static constexpr uint64_t kWhole = 0;
  /// Maps memory that the other side created, `size_bytes` or the kWhole of it. INTERNAL: it is
  /// smaller, or not sealed.
  static std::shared_ptr<SharedMemory> map(Descriptor file, uint64_t size_bytes, bool is_writable);

  /// Maps a file of the model for reading. INTERNAL: it is smaller than `size_bytes`. If the file
  /// is truncated later, a process that reads the missing pages ends (SIGBUS).
  static std::shared_ptr<SharedMemory> map_file(Descriptor file, uint64_t size_bytes);

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Makes the memory read-only for everyone, the caller included. Call it once, before the memory
  /// is shared.
  void seal_content();
  /// Forbids further seals, with which another process could make the memory read-only.
  void seal_seals();
  /// Returns the whole pages within the range to the system; they read as zero afterwards.
  void drop(uint64_t offset, uint64_t size_bytes) noexcept;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] int file() const { return file_.get(); }

 private:
  SharedMemory() = default;
  void map_pages(bool is_writable);

  Descriptor file_;
  std::byte* data_ = nullptr;
  uint64_t size_bytes_ = 0;
};

}  // namespace gantry
