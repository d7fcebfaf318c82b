// SPDX-License-Identifier: Apache-2.0
// Loops over rows of dense f32, with SIMD: sums, softmax, scaling and weighted sums of shifted
// rows. Highway selects the instruction set on the first call. No alignment is needed. Any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// Sum of x[0 .. count). The order of additions depends on the vector length.
float sum(const float* x, int64_t count);
/// Sum of (x - center)^2.
float sum_of_squares(const float* x, int64_t count, float center);
/// Sums of x - center and of (x - center)^2.
struct Moments {
  float first;
  float second;
};
Moments moments(const float* x, int64_t count, float center);
/// Sum of |x|.
float sum_of_magnitudes(const float* x, int64_t count);
/// Largest element; NaN if there is one; -infinity if count is 0.
float largest(const float* x, int64_t count);
/// Smallest element; NaN if there is one; infinity if count is 0.
float smallest(const float* x, int64_t count);
/// y = exp(x - shift); returns the sum of y. Requires shift >= x; y may be x.
float exp_shifted(const float* x, float* y, int64_t count, float shift);
/// Sum of exp(x - shift). Requires shift >= x.
float sum_exp(const float* x, int64_t count, float shift);

/// y[r, i] = exp(x[r, i]) / sum of exp(x[r, k]) over k, for x and y of [rows, n]; y may be x. Stops
/// before a row that has NaN or whose largest element is infinite; returns the number of rows done.
int64_t softmax_rows(const float* x, float* y, int64_t n, int64_t rows);
/// y[r, i] = x[r, i] - log of the sum of exp(x[r, k]) over k; otherwise as softmax_rows().
int64_t log_softmax_rows(const float* x, float* y, int64_t n, int64_t rows);

/// y = x * scale + offset; y may be x.
void affine(const float* x, float* y, int64_t count, float scale, float offset);
/// y = (x - center) * factor + offset; y may be x.
void standardize(const float* x, float* y, int64_t count, float center, float factor, float offset);
/// y = (x - center) * factor * scale[i] + bias[i]; scale or bias may be null; y may be x.
void normalize(const float* x, float* y, int64_t count, float center, float factor,
               const float* scale, const float* bias);

/// y[i] = bias + sum over t of weights[t] * x[offsets[t] + i] for i in [0, count). May read up to
/// kTapSlack elements of x beyond the last one needed, which must be readable.
void taps(const float* x, const int64_t* offsets, const float* weights, int64_t tap_count,
          float bias, float* y, int64_t count);
inline constexpr int64_t kTapSlack = 64;

}  // namespace gantry::cpu::simd
