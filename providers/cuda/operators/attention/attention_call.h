// SPDX-License-Identifier: Apache-2.0
// Plans attention of given shapes with the fastest of the attention kernels.
#pragma once

#include <utility>
#include <vector>

#include "operators/attention/attention_heads.h"

namespace gantry::cuda {

/// Queries from which two matmuls with materialised scores are considered.
constexpr int kLeastQueriesForMatmuls = 16;

/// An attention whose operands are located. Borrows the parameters.
struct AttentionCall {
  AttentionParameters& parameters;
  uint32_t dtype;  ///< of queries, keys and values
  uint32_t mask;   ///< element type of the mask; GANTRY_BOOL if there is none
  int mask_kind;   ///< MASK_ADDED to MASK_OF_LENGTHS; MASK_KEEPS if there is none
  Buffer queries, keys, values, result;
  /// Further pointer members of the parameters (mask, lengths, positions) with their buffers.
  std::vector<std::pair<const void* const*, Buffer>> more;
  /// Keys and values after the last one of a row are undefined, so no matmul may read them.
  bool is_partly_filled = false;

  /// Adds input `slot`, a bias [batch, heads, queries, keys] of `dtype`, to the scores. Axes may be
  /// missing or 1.
  void add_to_scores(const Planner& planner, int slot);
  /// Puts a past, in tensors of its own, before the keys and values.
  void read_past(const HeadsBuffer& past_keys, const HeadsBuffer& past_values);
};

/// Whether the tensor-core kernel takes the call: many queries of 16-bit floats, aligned heads.
/// Requires a separate past, if there is one, to have dense heads of the same width.
bool takes_tiles(uint32_t dtype, const AttentionParameters& parameters);

/// Adds the steps. Few queries: a flash-decoding kernel without materialised scores, which can read
/// a separate past. Many queries of 16-bit floats: a flash-attention kernel on tensor cores,
/// likewise. Other: two cuBLASLt matmuls with a softmax in between, if the library is there.
void plan_attention(Planner& planner, AttentionCall& call);

}  // namespace gantry::cuda
