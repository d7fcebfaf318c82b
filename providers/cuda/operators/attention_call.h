// SPDX-License-Identifier: Apache-2.0
// Attention of one shape, and the ways of it.
#pragma once

#include <utility>
#include <vector>

#include "attention_heads.h"

namespace gantry::cuda {

/// From so many queries on two products are worth their scores.
constexpr int kLeastQueriesOfProducts = 16;

/// All that is known when it is known where keys and values lie. Borrows the parameters.
struct AttentionCall {
  AttentionParameters& parameters;
  uint32_t dtype;  ///< of queries, keys and values
  uint32_t mask;   ///< element type of the mask; GANTRY_BOOL if there is none
  int mask_kind;   ///< MASK_ADDED to MASK_OF_LENGTHS; MASK_KEEPS if there is none
  Buffer queries, keys, values, result;
  /// Members of the parameters that are of masks, of lengths and of places.
  std::vector<std::pair<const void* const*, Buffer>> more;
  /// Keys and values behind a row's last may be anything, so no product may read them.
  bool is_partly_filled = false;

  /// Input `slot`, [batch, heads, queries, keys] of `dtype` with axes that may be missing or 1, is
  /// added to the scores.
  void add_to_scores(const Planner& planner, int slot);
  /// Keys and values are behind those of a past, which lies by itself.
  void read_past(const PlacedHeads& past_keys, const PlacedHeads& past_values);
};

/// Whether there are many queries of 16-bit floats whose heads tensor cores take as they lie. A
/// past that lies by itself is of dense heads as wide.
bool takes_tiles(uint32_t dtype, const AttentionParameters& parameters);

/// Adds the steps, in the way that is fastest: for few queries, and for many of 16-bit floats on
/// tensor cores, a kernel that makes no matrix of scores, whose past may lie by itself; for many
/// others, where cuBLASLt is there, two products and a softmax in between.
void plan_attention(Planner& planner, AttentionCall& call);

}  // namespace gantry::cuda
