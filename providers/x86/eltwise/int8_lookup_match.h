// SPDX-License-Identifier: Apache-2.0
// Functions of a number of int8: nodes that work element by element between one tensor of int8
// and another, whatever floats and roundings lie between (x * sigmoid(x) as quantizers leave it, a
// GELU in its parts, a change of scale). As there are 256 numbers, such a function is a table. Pure
// functions.
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

/// The largest function that ends with node `last`, a QuantizeLinear, of nodes that may be taken
/// and whose other results nobody reads. Nothing: the node is none, or what it rounds depends on
/// more than one tensor.
std::optional<Int8Lookup> int8_lookup_at(const sdk::GraphIndex& index, uint32_t last,
                                         const std::function<bool(uint32_t node)>& may_take);

/// The function's results.
LookupTable table_of(const sdk::GraphIndex& index, const Int8Lookup& function);

}  // namespace gantry::x86
