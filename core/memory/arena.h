// SPDX-License-Identifier: Apache-2.0
// The memory of planned runs: one growing allocation per memory space of an execution context. A
// run without a plan borrows it, so that shapes that were not seen before meet pages that the
// system has cleared already. One thread at a time; how much is held may be asked by any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "memory/memory_space.h"
#include "memory/ranges.h"

namespace gantry {

/// Gives memory back that nobody needs now, when there is none left.
using GiveBack = std::function<void()>;

class Arena {
 public:
  explicit Arena(MemorySpace space, GiveBack give_back = nullptr)
      : space_(std::move(space)), give_back_(std::move(give_back)) {}
  ~Arena() { drop(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Memory of at least that size for a plan; the content is lost when it grows. From then on
  /// nothing is lent. Requires that nothing is.
  std::byte* reserve(uint64_t size_bytes);
  /// As it was reserved last.
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  /// Gives the memory back. Requires that nothing is lent.
  void drop() noexcept;
  [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }

  /// No plan is bound: from now on lend() has what is there. Requires that nothing is lent.
  void start_lending();
  /// A part of the memory, aligned as tensors are; null: it has no such part now.
  void* lend(uint64_t size_bytes);
  /// `size_bytes`: as it was asked for.
  void take_back(void* part, uint64_t size_bytes) noexcept;

 private:
  MemorySpace space_;
  GiveBack give_back_;
  void* data_ = nullptr;
  std::atomic<uint64_t> size_bytes_ = 0;
  Ranges ranges_{0};  // of what is lent
  uint32_t parts_lent_ = 0;
  int64_t time_ = 0;  // parts taken back, ever
};

}  // namespace gantry
