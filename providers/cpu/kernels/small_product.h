// SPDX-License-Identifier: Apache-2.0
// Products of few rows of f32 with a matrix that stays in the cache, as the steps of recurrent
// layers are: without the packing that pays for large ones. Chosen for the machine's instruction
// set when first called. Pure, any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// c[i, j] += the sum over k of a[i, k] b[j, k]. a: [m, k] and b: [n, k], dense; c: [m, n] with
/// rows `ldc` apart, which overlaps neither.
void add_small_product(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k,
                       int64_t ldc);

}  // namespace gantry::cpu::simd
