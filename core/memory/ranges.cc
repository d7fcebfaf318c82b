// SPDX-License-Identifier: Apache-2.0
#include "memory/ranges.h"

namespace gantry {

std::optional<uint64_t> Ranges::take(uint64_t size) {
  const auto fit = by_size_.lower_bound({size, std::numeric_limits<int64_t>::min(), 0});
  if (fit == by_size_.end()) return grow(size);
  const auto [range_size, age, offset] = *fit;
  remove(offset);
  if (range_size > size) add(offset + size, range_size - size, -age);
  return offset;
}

void Ranges::give(uint64_t offset, uint64_t size, int64_t time) {
  auto next = by_offset_.lower_bound(offset);
  if (next != by_offset_.end() && offset + size == next->first) {
    size += next->second.size;
    remove(next->first);
  }
  next = by_offset_.lower_bound(offset);
  if (next != by_offset_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second.size == offset) {
      offset = previous->first;
      size += previous->second.size;
      remove(offset);
    }
  }
  add(offset, size, time);
}

std::optional<uint64_t> Ranges::grow(uint64_t size) {
  uint64_t offset = end_;
  // A free range at the end is extended rather than left behind.
  if (!by_offset_.empty()) {
    const auto last = std::prev(by_offset_.end());
    if (last->first + last->second.size == end_) offset = last->first;
  }
  if (size > limit_ - offset) return std::nullopt;
  if (offset < end_) remove(offset);
  end_ = offset + size;
  return offset;
}

void Ranges::add(uint64_t offset, uint64_t size, int64_t time) {
  by_offset_[offset] = {size, time};
  by_size_.insert({size, -time, offset});
}

void Ranges::remove(uint64_t offset) {
  const auto found = by_offset_.find(offset);
  by_size_.erase({found->second.size, -found->second.time, offset});
  by_offset_.erase(found);
}

}  // namespace gantry
