// SPDX-License-Identifier: Apache-2.0
// Skinny GEMM in f32: a matrix of few rows times one that fits the cache, as in a step of a
// recurrent layer. It does not pack, since packing only pays for large matrices. Highway selects
// the instruction set on the first call. Pure, any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// c[i, j] += the sum over k of a[i, k] b[j, k]. a: [m, k] and b: [n, k], dense; c: [m, n] with
/// rows `ldc` apart, which overlaps neither.
void add_skinny_gemm(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k,
                     int64_t ldc);

/// c[i, j] += the sum over k of a[i, k] b[k, j]. a: [m, k], b: [k, n], c: [m, n], dense; c overlaps
/// neither.
void add_skinny_gemm_of_rows(const float* a, const float* b, float* c, int64_t m, int64_t n,
                             int64_t k);

}  // namespace gantry::cpu::simd
