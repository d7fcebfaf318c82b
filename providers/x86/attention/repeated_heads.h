// SPDX-License-Identifier: Apache-2.0
// Heads of keys and values that are repeated for several query heads (grouped-query attention), as
// exporters write it: an Unsqueeze or Reshape that adds an axis after that of the heads, an Expand
// or Tile along the new axis, and a Reshape that merges both. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gantry::x86 {

/// True if two extents are known to be equal: the same number, or the same symbolic name.
bool is_same_extent(const sdk::GraphIndex& index, uint32_t value, int axis, uint32_t other,
                    int other_axis);

struct Repeats {
  std::vector<uint32_t> nodes;
  uint32_t source = GANTRY_NONE;  ///< value: [batch, heads, length, width]
  int64_t count = 1;              ///< consecutive copies of each head
};

/// The repetition that makes `value`, [batch, heads * count, length, width]. `own_producer`: the
/// producer of a value that has one reader; `may_take`: whether a node may be fused. Nothing if
/// there is none, or the extents do not prove it.
std::optional<Repeats> repeats_of(const sdk::GraphIndex& index, uint32_t value,
                                  const std::function<uint32_t(uint32_t value)>& own_producer,
                                  const std::function<bool(uint32_t node)>& may_take);

}  // namespace gantry::x86
