// SPDX-License-Identifier: Apache-2.0
// Huge pages for memory that stays: asked for at once where the system has them ready, gathered
// afterwards where it has not. In a virtual machine whose free memory goes back to its host, a huge
// page of 2 MiB may take 6 ms to get, twenty times as long as the small pages that lie about, and a
// model's weights need hundreds (docs/decisions/0034-loading.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace gantry {

inline constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

/// A mapping that begins at a huge page, and how much of it is in use. One thread at a time.
class HugePages {
 public:
  HugePages() = default;
  /// Asks for huge pages for all of the mapping, of `size_bytes`. It is not touched yet.
  HugePages(const std::shared_ptr<std::byte>& mapping, uint64_t size_bytes);

  /// Says that the first `size_bytes` are going to be written: touches pages of what is new, in
  /// samples of one in eight. From the first that took long on, the mapping has small pages, which
  /// a thread gathers into huge ones half a second after the last such mapping was made, pausing
  /// for as long as it works. `slow`: CPU time of a touch that is too long.
  void use(uint64_t size_bytes, std::chrono::nanoseconds slow = kSlow);

 private:
  // A huge page that is there is cleared in 0.3 ms.
  static constexpr std::chrono::milliseconds kSlow{1};

  void fall_back(uint64_t from);

  std::weak_ptr<std::byte> mapping_;
  std::byte* begin_ = nullptr;
  uint64_t size_bytes_ = 0;
  uint64_t next_ = 0;  // the offset of the next sample
};

/// Gathers the small pages of a range of `mapping` into huge ones, as above: later, on that thread.
/// Only huge pages that lie whole in the range, and of those the ones with content by then. A wish:
/// nothing tells that it was fulfilled. Any thread.
void gather_pages(const std::shared_ptr<std::byte>& mapping, std::byte* begin, uint64_t size_bytes);

}  // namespace gantry
