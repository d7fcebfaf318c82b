// SPDX-License-Identifier: Apache-2.0
// A Softmax whose result is only the left factor of a product in 16-bit floats, with the nodes that
// exporters and the bodies of attention put between: a Cast to f32 before it, one back behind it,
// and a Where that makes the rows that see nothing 0. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gantry::cpu {

/// product = (softmax(scores), but 0 where hidden) * factor; values of a graph.
struct SoftmaxProduct {
  std::vector<uint32_t> nodes;    ///< ascending
  uint32_t matmul = GANTRY_NONE;  ///< the product's node
  uint32_t scores = GANTRY_NONE;  ///< [..., queries, keys], f32, f16 or bf16
  uint32_t hidden = GANTRY_NONE;  ///< bool, [..., queries or 1, 1], for the scores' leading axes or
                                  ///< the last of them; GANTRY_NONE: nothing is hidden
  uint32_t factor = GANTRY_NONE;  ///< [..., keys, width], f16 or bf16, as the product is
};

/// The one around node `softmax`, of nodes that may be taken. Nothing: it is no Softmax, or none of
/// that kind.
std::optional<SoftmaxProduct> softmax_product_of(
    const sdk::GraphIndex& index, uint32_t softmax,
    const std::function<bool(uint32_t node)>& may_take);

}  // namespace gantry::cpu
