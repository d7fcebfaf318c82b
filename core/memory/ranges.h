// SPDX-License-Identifier: Apache-2.0
// An address space that is parted into ranges: which of it is free, and what a range is taken from.
// One thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace gantry {

/// Offsets, of an address space that grows up to a limit. O(log n) for n free ranges. What throws
/// std::bad_alloc loses the range that it is about, and nothing else.
class Ranges {
 public:
  static constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
  explicit Ranges(uint64_t limit = kNoLimit) : limit_(limit) {}

  /// The offset of a range: best fit; of equal fits the one freed last, which is most likely still
  /// in cache. Nothing: the limit leaves no such range.
  std::optional<uint64_t> take(uint64_t size);
  /// Frees a range that was taken. `time`: when, growing from call to call.
  void give(uint64_t offset, uint64_t size, int64_t time);
  /// Behind everything that was ever taken.
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
