// SPDX-License-Identifier: Apache-2.0
// The exchange of channels between groups as models write it: a Reshape that parts the channels, a
// Transpose of the two parts, a Reshape that puts them together. Pure functions.
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
  uint32_t source = GANTRY_NONE;  ///< value: [n, groups * c, h, w], each group after the other
  int64_t groups = 0;
};

/// The one that makes `value`, [n, c * groups, h, w], for one reader only, of nodes that may be
/// taken. Nothing: it is not made so, or not known to be.
std::optional<Shuffle> shuffle_of(const GraphIndex& index, uint32_t value,
                                  const std::function<bool(uint32_t node)>& may_take);

}  // namespace gantry::x86
