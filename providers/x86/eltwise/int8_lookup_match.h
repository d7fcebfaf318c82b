// SPDX-License-Identifier: Apache-2.0
// Matches element-wise nodes from one int8 tensor to another, whatever float and rounding steps are
// between them (x * sigmoid(x) as quantizers leave it, a decomposed GELU, a requantization). With
// 256 possible inputs such nodes are one lookup table. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "eltwise/lookup_table.h"
#include "fuse/quantization.h"

namespace gantry::x86 {

struct Int8Lookup {
  std::vector<uint32_t> nodes;    ///< ascending
  uint32_t source = GANTRY_NONE;  ///< value, of u8 or s8
  uint32_t target = GANTRY_NONE;  ///< value, of u8 or s8
};

/// The largest such set of nodes that ends with `last`, a QuantizeLinear, of nodes that `may_take`
/// allows and that no node outside the set reads. Nothing if `last` is another operator, or its
/// input depends on several tensors.
std::optional<Int8Lookup> int8_lookup_at(const sdk::GraphIndex& index, uint32_t last,
                                         const std::function<bool(uint32_t node)>& may_take);

/// The lookup table of the nodes.
LookupTable table_of(const sdk::GraphIndex& index, const Int8Lookup& function);

}  // namespace gantry::x86
