// SPDX-License-Identifier: Apache-2.0
// Matches attention: softmax(query * key' * scale + mask) * value, with the Transposes before and
// after it, as exporters write it, or an Attention node. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gantry::x86 {

/// A 4-D view of a value: axis i of the view is axis order[i] of the value. If the value is 5-D,
/// the view is its slice `index` along axis `picked`.
struct View {
  uint32_t value = GANTRY_NONE;
  std::array<int, 4> order{0, 1, 2, 3};
  /// Consecutive query heads that share one head of this value (grouped-query attention).
  int64_t group = 1;
  int picked = -1;  ///< -1: the value has four axes
  int64_t index = 0;
};

struct Attention {
  int rank = 4;                 ///< of the tensors, 3 or 4; with 3 the batch is 1
  std::vector<uint32_t> nodes;  ///< ascending
  View query;                   ///< [batch, heads, queries, depth]
  View key;                     ///< [batch, heads, depth, keys]
  View value;                   ///< [batch, heads, keys, value_depth]
  uint32_t mask = GANTRY_NONE;  ///< value added to the scores; GANTRY_NONE: none
  float scale = 1;              ///< of the scores, before the mask
  View target;                  ///< [batch, heads, queries, value_depth]
  /// True of an Attention node, by whose definition keys beyond the mask are hidden and a query
  /// whose keys are all hidden has the result 0. False: plain arithmetic, which may make NaN.
  bool is_standard = false;
};

/// The f32 attention around a Softmax, of nodes that `may_take` allows, or that an Attention node
/// (ai.onnx 23, 24) is. Keys and values that an Expand or Tile repeats for several heads are read
/// before it. Nothing if there is none or it is not proven. Nothing either for an Attention node
/// that `cpu` runs as fast or alone can run: with a past, a mask that is not f32, is_causal,
/// softcap, windows, inputs of rank 3, or at most 8 queries.
std::optional<Attention> attention_at(const sdk::GraphIndex& index, uint32_t node,
                                      const std::function<bool(uint32_t node)>& may_take);

}  // namespace gantry::x86
