// SPDX-License-Identifier: Apache-2.0
// Heads of queries, keys and values: how they lie in tensors, and how a past and new ones become
// one. Pure functions of shapes.
#pragma once

#include <optional>

#include "../kernels/attention.h"
#include "operators.h"

namespace gantry::cuda {

/// The widest head that attention has kernels for, in elements.
constexpr int64_t kMostWidth = 512;

/// A tensor of heads and how it lies; `strides` in elements.
struct Heads {
  int64_t batch, heads, length, width;
  HeadStrides strides;

  static Heads dense(int64_t batch, int64_t heads, int64_t length, int64_t width) {
    return {batch, heads, length, width, {heads * length * width, length * width, width}};
  }
  /// Heads side by side in rows of `row` elements.
  static Heads side_by_side(int64_t batch, int64_t heads, int64_t length, int64_t width,
                            int64_t row) {
    return {batch, heads, length, width, {length * row, width, row}};
  }
  [[nodiscard]] Extents shape() const { return {batch, heads, length, width}; }
  [[nodiscard]] Extents all_strides() const {
    return {strides.batch, strides.head, strides.row, 1};
  }
};

/// A tensor [batch, heads, length, width], or [batch, length, heads * width] with `count` heads.
/// INVALID_ARGUMENT: it is neither; `slot`: of the input.
Heads heads_of(const Extents& shape, int64_t count, int slot);

/// INVALID_ARGUMENT, UNSUPPORTED: queries, keys and values do not fit together, or heads are wider
/// than kMostWidth.
void check_heads(const Heads& q, const Heads& k, const Heads& v);

/// Heads and where they are.
struct PlacedHeads {
  Heads heads;
  Buffer at;
};

/// A past of keys or values, [batch, heads, positions, width] without gaps, and what both become.
struct JoinedHeads {
  std::optional<PlacedHeads> past;
  std::optional<Buffer> present;  ///< where all are wanted, without gaps
};

/// Length of a past with such heads. INVALID_ARGUMENT: it has others.
int64_t past_length(const Extents& past, const Heads& heads, int slot);

/// Those of an input with a past, which may be absent, and of an output that may not be wanted.
/// INVALID_ARGUMENT: the past has other heads than `fresh`.
JoinedHeads joined_heads(Planner& planner, uint32_t dtype, const Heads& fresh, int past_slot,
                         int present);

/// Past and new heads one behind the other, in `present` or in scratch memory, or the new ones
/// where they lie if there is no past and nobody wants them.
PlacedHeads plan_joined(Planner& planner, uint32_t dtype, const PlacedHeads& fresh,
                        const JoinedHeads& joined);

/// Parameters of attention with these heads, open to all keys, dense but for what is said of q, k
/// and v, whose strides are theirs; the scale follows from the width if `scale` is 0.
AttentionParameters attention_of(const Heads& q, const Heads& k, const Heads& v, float scale);

/// Strides over batch, heads and queries of a tensor [batch, heads, queries, keys] of which leading
/// axes may be missing and others 1. INVALID_ARGUMENT: it does not fit the scores; `what` it is.
HeadStrides score_strides(const Extents& shape, const AttentionParameters& parameters,
                          const char* what);

}  // namespace gantry::cuda
