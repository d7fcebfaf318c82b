// SPDX-License-Identifier: Apache-2.0
// Huge pages for long-lived memory: requested at once if the system has them ready, else collapsed
// from small pages later. In a virtual machine that returns free memory to its host, a huge page of
// 2 MiB may take 6 ms to allocate, twenty times as long as its small pages, and a model's weights
// need hundreds (docs/decisions/0034-loading.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace gantry {

inline constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

/// A mapping that begins at a huge page boundary, and how much of it is in use. One thread at a
/// time.
class HugePages {
 public:
  HugePages() = default;
  /// Requests huge pages for the whole mapping of `size_bytes`. Requires that no page of it has
  /// been touched.
  HugePages(const std::shared_ptr<std::byte>& mapping, uint64_t size_bytes);

  /// Call before the first `size_bytes` are written: touches one in eight of their new pages. After
  /// the first touch that takes longer than `slow` of CPU time, the rest of the mapping gets small
  /// pages; so has a whole new mapping if a touch was slow within the last 5 seconds. A thread
  /// collapses these into huge pages half a second after the last such mapping was made, pausing
  /// for as long as it works.
  void use(uint64_t size_bytes, std::chrono::nanoseconds slow = kSlow);

 private:
  // A huge page that is available is cleared in 0.3 ms.
  static constexpr std::chrono::milliseconds kSlow{1};

  void fall_back(uint64_t from);

  std::weak_ptr<std::byte> mapping_;
  std::byte* begin_ = nullptr;
  uint64_t size_bytes_ = 0;
  uint64_t next_ = 0;  // the offset of the next sample
};

/// Collapses the small pages of a range of `mapping` into huge pages, later and on the same thread
/// as above. Covers huge pages that lie entirely in the range and have content by then. Best
/// effort: success is not reported. Any thread.
void collapse_pages(const std::shared_ptr<std::byte>& mapping, std::byte* begin,
                    uint64_t size_bytes);

}  // namespace gantry
