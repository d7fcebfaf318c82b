// SPDX-License-Identifier: Apache-2.0
// Heads of keys and values that are repeated for several heads of queries, as exporters write it:
// an axis behind that of the heads, an Expand (or Tile) along it, and a Reshape that makes one of
// both. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gantry::x86 {

/// True if two extents are known to be equal: they are the same number, or have the same name.
bool is_same_extent(const sdk::GraphIndex& index, uint32_t value, int axis, uint32_t other,
                    int other_axis);

struct Repeats {
  std::vector<uint32_t> nodes;    ///< that repeat
  uint32_t source = GANTRY_NONE;  ///< [batch, heads, length, width]
  int64_t count = 1;              ///< how often each head stands there, in succession
};

/// What makes `value`, [batch, heads * count, length, width], from fewer heads. `own_producer`: of
/// a value that has one reader; `may_take`: of a node. Nothing: it is not made so, or extents are
/// not known well enough to tell.
std::optional<Repeats> repeats_of(const sdk::GraphIndex& index, uint32_t value,
                                  const std::function<uint32_t(uint32_t value)>& own_producer,
                                  const std::function<bool(uint32_t node)>& may_take);

}  // namespace gantry::x86
