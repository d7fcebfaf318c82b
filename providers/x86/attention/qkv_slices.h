// SPDX-License-Identifier: Apache-2.0
// Queries, keys and values that one product makes together, as exporters take them apart: one index
// along an axis of the tensor that holds all three, by a Gather, or by a Split into single ones and
// a Squeeze. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gantry::x86 {

struct Pick {
  std::vector<uint32_t> nodes;    ///< that choose; a Split chooses for others too
  uint32_t source = GANTRY_NONE;  ///< has one axis more than what is chosen
  int axis = 0;                   ///< of the source
  int64_t index = 0;              ///< along it, from 0
};

/// What chooses `value`, which has one reader, from a tensor of known rank. `may_take`: of a node.
/// Nothing: nothing does, or it is not known which index.
std::optional<Pick> pick_of(const sdk::GraphIndex& index, uint32_t value,
                            const std::function<bool(uint32_t node)>& may_take);

/// True if nobody but `nodes` reads what `node` makes.
bool is_read_by_only(const sdk::GraphIndex& index, uint32_t node,
                     const std::vector<uint32_t>& nodes);

}  // namespace gantry::x86
