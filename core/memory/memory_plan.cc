// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/alignment.h"
#include "base/assert.h"

namespace gantry {
namespace {

// The free ranges of one growing address space.
class Ranges {
 public:
  // Best fit; of equal fits the one freed last, which is most likely still in cache.
  uint64_t take(uint64_t size) {
    const auto fit = by_size_.lower_bound({size, std::numeric_limits<int64_t>::min(), 0});
    if (fit == by_size_.end()) return grow(size);
    const auto [range_size, age, offset] = *fit;
    remove(offset);
    if (range_size > size) add(offset + size, range_size - size, -age);
    return offset;
  }

  void give(uint64_t offset, uint64_t size, int64_t time) {
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

  [[nodiscard]] uint64_t end() const { return end_; }

 private:
  struct Range {
    uint64_t size;
    int64_t time;
  };

  uint64_t grow(uint64_t size) {
    // A free range at the end is extended rather than left behind.
    if (!by_offset_.empty()) {
      const auto last = std::prev(by_offset_.end());
      if (last->first + last->second.size == end_) {
        const uint64_t offset = last->first;
        remove(offset);
        end_ = offset + size;
        return offset;
      }
    }
    const uint64_t offset = end_;
    end_ += size;
    return offset;
  }
  void add(uint64_t offset, uint64_t size, int64_t time) {
    by_offset_[offset] = {size, time};
    by_size_.insert({size, -time, offset});
  }
  void remove(uint64_t offset) {
    const auto found = by_offset_.find(offset);
    by_size_.erase({found->second.size, -found->second.time, offset});
    by_offset_.erase(found);
  }

  std::map<uint64_t, Range> by_offset_;
  std::set<std::tuple<uint64_t, int64_t, uint64_t>> by_size_;  // size, -time freed, offset
  uint64_t end_ = 0;
};

// Whether no two records of a space that are used at the same time share a byte.
[[maybe_unused]] bool are_apart(const std::vector<MemoryRecord>& records) {
  std::map<uint32_t, std::vector<const MemoryRecord*>> by_start;
  for (const MemoryRecord& record : records) by_start[record.space].push_back(&record);
  for (auto& [space, all] : by_start) {
    std::sort(all.begin(), all.end(),
              [](const auto* a, const auto* b) { return a->offset < b->offset; });
    for (size_t i = 0; i < all.size(); ++i) {
      const uint64_t end = all[i]->offset + all[i]->size_bytes;
      for (size_t k = i + 1; k < all.size() && all[k]->offset < end; ++k) {
        if (all[i]->first <= all[k]->last && all[k]->first <= all[i]->last) return false;
      }
    }
  }
  return true;
}

}  // namespace

std::vector<uint64_t> pack(std::vector<MemoryRecord>& records, uint32_t space_count) {
  std::vector<size_t> starts(records.size());
  for (size_t i = 0; i < starts.size(); ++i) starts[i] = i;
  std::vector<size_t> ends = starts;
  std::stable_sort(starts.begin(), starts.end(),
                   [&](size_t a, size_t b) { return records[a].first < records[b].first; });
  std::stable_sort(ends.begin(), ends.end(),
                   [&](size_t a, size_t b) { return records[a].last < records[b].last; });

  const auto aligned = [&](size_t i) {
    return round_up(std::max<uint64_t>(records[i].size_bytes, 1), kTensorAlignment);
  };
  std::vector<Ranges> spaces(space_count);
  size_t next_end = 0;
  for (const size_t i : starts) {
    for (; next_end < ends.size() && records[ends[next_end]].last < records[i].first; ++next_end) {
      const MemoryRecord& ended = records[ends[next_end]];
      spaces[ended.space].give(ended.offset, aligned(ends[next_end]), ended.last);
    }
    records[i].offset = spaces[records[i].space].take(aligned(i));
  }
  GANTRY_ASSERT(are_apart(records), "records that are used at the same time do not overlap");
  std::vector<uint64_t> sizes;
  sizes.reserve(spaces.size());
  for (const Ranges& space : spaces) sizes.push_back(space.end());
  return sizes;
}

}  // namespace gantry
