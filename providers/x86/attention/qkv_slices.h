// SPDX-License-Identifier: Apache-2.0
// Queries, keys and values that one matmul makes as one tensor, and the nodes that slice them out
// of it: a Gather of one index, or a Split into extents of 1 with a Squeeze. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gantry::x86 {

/// A slice of one index along an axis, which the result does not have.
struct Pick {
  std::vector<uint32_t> nodes;    ///< Gather, or Split and Squeeze; a Split has other readers too
  uint32_t source = GANTRY_NONE;  ///< value, of one axis more than the slice
  int axis = 0;                   ///< of the source
  int64_t index = 0;              ///< along the axis, from 0
};

/// The slice that makes `value`, of nodes that `may_take` allows. Nothing if there is none, `value`
/// has several readers, or the axis or index is not constant.
std::optional<Pick> pick_of(const sdk::GraphIndex& index, uint32_t value,
                            const std::function<bool(uint32_t node)>& may_take);

/// True if only `nodes` read the outputs of `node`.
bool is_read_by_only(const sdk::GraphIndex& index, uint32_t node,
                     const std::vector<uint32_t>& nodes);

}  // namespace gantry::x86
