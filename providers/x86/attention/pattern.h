// SPDX-License-Identifier: Apache-2.0
// Attention as exporters write it: softmax(query * key' * scale + mask) * value, with the
// exchanges of axes before and behind it. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gantry::x86 {

/// A tensor of four axes as it is read: axis i of the view is axis order[i] of the value. Of one
/// that holds several such tensors `index` along the axis `picked`, which is the fifth.
struct View {
  uint32_t value = GANTRY_NONE;
  std::array<int, 4> order{0, 1, 2, 3};
  /// Heads that read one of the value's in succession: keys and values may have fewer.
  int64_t group = 1;
  int picked = -1;  ///< -1: the value has four axes
  int64_t index = 0;
};

struct Attention {
  int rank = 4;                 ///< of the tensors; those of rank 3 are heads of one batch
  std::vector<uint32_t> nodes;  ///< ascending
  View query;                   ///< [batch, heads, queries, depth]
  View key;                     ///< [batch, heads, depth, keys]
  View value;                   ///< [batch, heads, keys, value_depth]
  uint32_t mask = GANTRY_NONE;  ///< value added to the scores; GANTRY_NONE: there is none
  float scale = 1;              ///< of the scores, before the mask
  View target;                  ///< [batch, heads, queries, value_depth]
  /// By the rules of the operator Attention: a mask may have fewer keys, and nobody sees the
  /// others; a query that sees none has the result 0. Without them it has none.
  bool is_standard = false;
};

/// The one that `node` is, an Attention (ai.onnx 23, 24), or the one around it, a Softmax, both of
/// f32; of nodes that may be taken. Keys and values that an Expand repeats for several heads are
/// read as they are before it. Nothing: there is none, it is not known to be one, or `cpu` does it
/// as fast. Of an Attention that means a past, a mask of other numbers, or a few queries.
std::optional<Attention> attention_at(const sdk::GraphIndex& index, uint32_t node,
                                      const std::function<bool(uint32_t node)>& may_take);

}  // namespace gantry::x86
