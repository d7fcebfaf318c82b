// SPDX-License-Identifier: Apache-2.0
// Anonymous memory that two processes map: no name, so nothing is left behind, and sealed, so that
// neither side can take it from under the other. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/descriptor.h"

namespace gantry {

class SharedMemory {
 public:
  /// New memory, zeroed; takes up nothing before it is written. It can never change its size.
  /// OUT_OF_MEMORY.
  static std::shared_ptr<SharedMemory> create(uint64_t size_bytes);
  /// Maps what the other side made. INTERNAL: it is smaller than `size_bytes`, or not sealed.
  static std::shared_ptr<SharedMemory> map(Descriptor file, uint64_t size_bytes, bool is_writable);

  /// Maps a file of the model for reading. INTERNAL: it is smaller than `size_bytes`. Whoever can
  /// write to the file can take pages away; the process that reads them ends then.
  static std::shared_ptr<SharedMemory> map_file(Descriptor file, uint64_t size_bytes);

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Nobody can write to it from now on, the caller included. Call it once, before the memory is
  /// shown to others.
  void seal_content();
  /// Nobody who has the file can add seals, which would keep others from writing.
  void seal_seals();
  /// Gives pages back to the system; they read as zero then. Whole pages within the range only.
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
