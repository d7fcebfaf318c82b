// SPDX-License-Identifier: Apache-2.0
// The memory of planned runs: one growing allocation per memory space of an execution context. A
// run without a plan borrows parts of it, so that new shapes use pages that the system has mapped
// already. One thread at a time; size_bytes() by any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "memory/memory_space.h"
#include "memory/ranges.h"

namespace gantry {

/// Called when there is no memory left: frees memory that nobody needs now.
using GiveBack = std::function<void()>;

class Arena {
 public:
  explicit Arena(MemorySpace space, GiveBack give_back = nullptr)
      : space_(std::move(space)), give_back_(std::move(give_back)) {}
  ~Arena() { drop(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Memory of at least that size for a plan; the content is lost when the arena grows. Ends
  /// lending; requires that nothing is lent. OUT_OF_MEMORY.
  std::byte* reserve(uint64_t size_bytes);
  /// The memory of the last reserve(); null: none.
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  /// Frees the memory. Requires that nothing is lent.
  void drop() noexcept;
  [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }

  /// From now on lend() hands out parts of the memory. Requires that no plan is bound and nothing
  /// is lent.
  void start_lending();
  /// A part of the memory, aligned for tensors; null: no free part is large enough.
  void* lend(uint64_t size_bytes);
  /// Ends the lending of a part. `size_bytes`: as in lend().
  void take_back(void* part, uint64_t size_bytes) noexcept;

 private:
  MemorySpace space_;
  GiveBack give_back_;
  void* data_ = nullptr;
  std::atomic<uint64_t> size_bytes_ = 0;
  Ranges ranges_{0};  // free and lent parts
  uint32_t parts_lent_ = 0;
  int64_t time_ = 0;  // number of parts taken back so far
};

}  // namespace gantry
