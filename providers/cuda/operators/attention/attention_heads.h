// SPDX-License-Identifier: Apache-2.0
// Layouts of the heads of queries, keys and values, and concatenation of past and new ones. Pure
// functions of shapes.
#pragma once

#include <optional>

#include "kernels/attention/attention.h"
#include "operators/operators.h"

namespace gantry::cuda {

/// Limit of the head size, in elements.
constexpr int64_t kMostWidth = 512;

/// A tensor [batch, heads, length, width] with its strides in elements.
struct Heads {
  int64_t batch, heads, length, width;
  HeadStrides strides;

  static Heads dense(int64_t batch, int64_t heads, int64_t length, int64_t width) {
    return {batch, heads, length, width, {heads * length * width, length * width, width}};
  }
  /// Heads adjacent within rows of `row` elements: [batch, length, row].
  static Heads side_by_side(int64_t batch, int64_t heads, int64_t length, int64_t width,
                            int64_t row) {
    return {batch, heads, length, width, {length * row, width, row}};
  }
  [[nodiscard]] Extents shape() const { return {batch, heads, length, width}; }
  [[nodiscard]] Extents all_strides() const {
    return {strides.batch, strides.head, strides.row, 1};
  }
};

/// The layout of a tensor [batch, heads, length, width], or [batch, length, heads * width] with
/// `count` heads. INVALID_ARGUMENT: it is neither; `slot`: of the input, for the message.
Heads heads_of(const Extents& shape, int64_t count, int slot);

/// Checks that queries, keys and values fit together. INVALID_ARGUMENT: they do not. UNSUPPORTED: a
/// head is wider than kMostWidth.
void check_heads(const Heads& q, const Heads& k, const Heads& v);

/// Heads and the buffer that holds them.
struct HeadsBuffer {
  Heads heads;
  Buffer at;
};

/// The past of keys or values, dense [batch, heads, positions, width], and the output that receives
/// past and new ones.
struct ConcatenatedHeads {
  std::optional<HeadsBuffer> past;
  std::optional<Buffer> present;  ///< the output, dense; none: not wanted
};

/// Number of positions of a past. INVALID_ARGUMENT: its heads differ from `heads`.
int64_t past_length(const Extents& past, const Heads& heads, int slot);

/// The past in input `past_slot`, which may be absent, and output `present`, which may be unwanted.
/// INVALID_ARGUMENT: the past's heads differ from those of `fresh`.
ConcatenatedHeads concatenated_heads(Planner& planner, uint32_t dtype, const Heads& fresh,
                                     int past_slot, int present);

/// Plans the concatenation of past and new heads, in `present` or in scratch memory. Returns the
/// new heads as they are if there is no past and no output.
HeadsBuffer plan_concatenation(Planner& planner, uint32_t dtype, const HeadsBuffer& fresh,
                               const ConcatenatedHeads& concatenated);

/// Attention parameters for these heads, without a mask and with a dense result. A `scale` of 0
/// means 1 / sqrt(width).
AttentionParameters attention_of(const Heads& q, const Heads& k, const Heads& v, float scale);

/// Strides over batch, heads and queries of a tensor that broadcasts to [batch, heads, queries,
/// keys]. INVALID_ARGUMENT: it does not; `what` names it in the message.
HeadStrides score_strides(const Extents& shape, const AttentionParameters& parameters,
                          const char* what);

}  // namespace gantry::cuda
