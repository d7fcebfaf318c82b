// SPDX-License-Identifier: Apache-2.0
// Softmax of rows. Those of f32 in vectors, chosen for the machine's instruction set when first
// called. Pure, any thread; output and input are equal or do not overlap.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gantry::cpu {
namespace simd {

/// y[r, i] = exp(x[r, i]) / sum of exp(x[r, k]) over k, for x and y of [rows, n]. Stops before a
/// row that has NaN or whose largest element is infinite; returns the number of rows done.
int64_t softmax_rows(const float* x, float* y, int64_t n, int64_t rows);
/// y[r, i] = x[r, i] - log of the sum of exp(x[r, k]); likewise.
int64_t log_softmax_rows(const float* x, float* y, int64_t n, int64_t rows);

}  // namespace simd

/// y[i] = exp(x[i]) / sum of exp(x[k]) over k, step by step as it is written, so that infinities
/// and NaN come out as they should. Requires n > 0.
template <class C>
void softmax_row(const C* x, C* y, int64_t n) {
  const C top = *std::max_element(x, x + n);
  C total = C{0};
  for (int64_t i = 0; i < n; ++i) total += y[i] = std::exp(x[i] - top);
  for (int64_t i = 0; i < n; ++i) y[i] /= total;
}

/// Likewise of each row of x and y, [rows, n], whatever is in them.
inline void softmax_every_row(const float* x, float* y, int64_t n, int64_t rows) {
  if (n == 0) return;
  for (int64_t r = 0; r < rows; ++r) {
    r += simd::softmax_rows(x + r * n, y + r * n, n, rows - r);
    if (r < rows) softmax_row(x + r * n, y + r * n, n);
  }
}

}  // namespace gantry::cpu
