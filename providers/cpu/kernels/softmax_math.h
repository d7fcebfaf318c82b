// SPDX-License-Identifier: Apache-2.0
// Softmax of rows of f32, in vectors. Chosen for the machine's instruction set when first called.
// Pure, any thread; output and input are equal or do not overlap.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// y[r, i] = exp(x[r, i]) / sum of exp(x[r, k]) over k, for x and y of [rows, n]. Stops before a
/// row that has NaN or whose largest element is infinite; returns the number of rows done.
int64_t softmax_rows(const float* x, float* y, int64_t n, int64_t rows);
/// y[r, i] = x[r, i] - log of the sum of exp(x[r, k]); likewise.
int64_t log_softmax_rows(const float* x, float* y, int64_t n, int64_t rows);

}  // namespace gantry::cpu::simd
