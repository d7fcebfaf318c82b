// SPDX-License-Identifier: Apache-2.0
// Weighted sums of scattered elements, in vectors. Chosen for the machine's instruction set when
// first called. Pure, any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// Lists of the taps of `count` points, tap by tap: entry [tap * pitch + point].
struct PointTaps {
  const int32_t* offsets;  ///< of the element; negative: padding, which counts as 0
  const float* weights;
  int64_t pitch;
  int64_t taps;
};

/// y[p] = the sum over the taps t of weight[t][p] * x[offset[t][p]], in the order of the taps.
void sum_taps(const float* x, const PointTaps& points, float* y, int64_t count);

}  // namespace gantry::cpu::simd
