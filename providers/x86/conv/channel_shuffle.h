// SPDX-License-Identifier: Apache-2.0
// Channel shuffle as models write it (ShuffleNet): a Reshape that splits the channel axis into
// [groups, c], a Transpose of these two axes, and a Reshape that merges them. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

namespace gantry::x86 {

using sdk::GraphIndex;

struct Shuffle {
  std::array<uint32_t, 3> nodes{};
  uint32_t source = GANTRY_NONE;  ///< value: [n, groups * c, h, w]
  int64_t groups = 0;
};

/// The shuffle that makes `value`, [n, c * groups, h, w], of nodes that `may_take` allows. Nothing
/// if there is none, if a value of it has several readers, or if extents or `perm` do not prove it.
std::optional<Shuffle> shuffle_of(const GraphIndex& index, uint32_t value,
                                  const std::function<bool(uint32_t node)>& may_take);

}  // namespace gantry::x86
