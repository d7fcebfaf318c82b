// SPDX-License-Identifier: Apache-2.0
// Weighted sums of gathered elements, with SIMD. Highway selects the instruction set on the first
// call. Pure, any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// The taps of `count` points; entry [tap * pitch + point] is one tap of one point.
struct PointTaps {
  const int32_t* offsets;  ///< of the element in x; negative: padding, which counts as 0
  const float* weights;
  int64_t pitch;
  int64_t taps;
};

/// y[p] = the sum over the taps t of weight[t][p] * x[offset[t][p]], in the order of the taps.
void sum_taps(const float* x, const PointTaps& points, float* y, int64_t count);

}  // namespace gantry::cpu::simd
