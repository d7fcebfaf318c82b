// SPDX-License-Identifier: Apache-2.0
// Page-aligned memory that can be made inaccessible, so that a later access crashes the process.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gantry::checks {

class PageMemory {
 public:
  /// `size_bytes` zeroed bytes, aligned to a page. Out of memory throws std::bad_alloc.
  explicit PageMemory(uint64_t size_bytes);
  ~PageMemory();
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  /// Makes the memory inaccessible.
  void close() const;

 private:
  void* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace gantry::checks
