// SPDX-License-Identifier: Apache-2.0
// A best-fit allocator of offsets in an address space. One thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace gantry {

/// Allocates ranges of an address space that grows up to a limit. O(log n) for n free ranges. A
/// call that throws std::bad_alloc loses its own range and nothing else.
class Ranges {
 public:
  static constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
  explicit Ranges(uint64_t limit = kNoLimit) : limit_(limit) {}

  /// The offset of a free range: best fit; of equal fits the one freed last, which is most likely
  /// still in the CPU cache. Nothing: the limit leaves no such range.
  std::optional<uint64_t> take(uint64_t size);
  /// Frees a range. `time`: of the call, increasing from call to call.
  void give(uint64_t offset, uint64_t size, int64_t time);
  /// The end of the highest range ever taken.
  [[nodiscard]] uint64_t end() const { return end_; }

 private:
  struct Range {
    uint64_t size;
    int64_t time;
  };

  std::optional<uint64_t> grow(uint64_t size);
  void add(uint64_t offset, uint64_t size, int64_t time);
  void remove(uint64_t offset);

  std::map<uint64_t, Range> by_offset_;
  std::set<std::tuple<uint64_t, int64_t, uint64_t>> by_size_;  // size, -time freed, offset
  uint64_t limit_;
  uint64_t end_ = 0;
};

}  // namespace gantry
