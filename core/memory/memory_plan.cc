// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_plan.h"

#include <algorithm>
#include <map>

#include "base/alignment.h"
#include "base/assert.h"
#include "memory/ranges.h"

namespace gantry {
namespace {

// True if no two records of a space that are used at the same time overlap.
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
    records[i].offset = spaces[records[i].space].take(aligned(i)).value();  // without a limit
  }
  GANTRY_ASSERT(are_apart(records), "records that are used at the same time do not overlap");
  std::vector<uint64_t> sizes;
  sizes.reserve(spaces.size());
  for (const Ranges& space : spaces) sizes.push_back(space.end());
  return sizes;
}

}  // namespace gantry
