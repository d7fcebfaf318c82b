// SPDX-License-Identifier: Apache-2.0
// What pools do to rows of f32, in vectors. Chosen for the machine's instruction set when first
// called. Pure, any thread; outputs must not overlap inputs unless it is said.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// Windows along a row: window o reads row[o * stride + k * dilation] for k below `taps`.
struct Slide {
  int64_t stride;
  int64_t dilation;
  int64_t taps;

  /// Whether slide_maximum and slide_sum take it: neighbours, or every second window.
  [[nodiscard]] bool is_vector() const { return stride == 1 || (stride == 2 && dilation == 1); }
};

/// y[o] = the largest element of window o, NaN if one is. Requires slide.is_vector(); the element
/// after the last window's is read too, and does not matter.
void slide_maximum(const float* row, const Slide& slide, float* y, int64_t count);
/// y[o] = the sum of window o; likewise.
void slide_sum(const float* row, const Slide& slide, float* y, int64_t count);

/// row[i] = the larger of row[i] and x[i], NaN if one is.
void raise(float* row, const float* x, int64_t count);
/// row[i] += x[i]^2
void add_squares(float* row, const float* x, int64_t count);

}  // namespace gantry::cpu::simd
