// SPDX-License-Identifier: Apache-2.0
// Loops over dense arrays of integers for the best instruction set of the machine (Highway chooses
// on first use). Outputs and inputs are equal or do not overlap. Any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// y[i] = the low 8 bits of x[i], truncated to a whole number; 0 beyond 32 bits and of NaN.
void to_bytes(const float* x, uint8_t* y, int64_t count);
/// y[i] = x[i], truncated; the smallest integer beyond 64 bits and of NaN.
void to_int64(const float* x, int64_t* y, int64_t count);

/// y[i] = a[i * a_stride] / b[i * b_stride], truncated; strides are 0 or 1. By 0 it is 0, and the
/// smallest by -1 is itself.
void divide(const int32_t* a, int64_t a_stride, const int32_t* b, int64_t b_stride, int32_t* y,
            int64_t count);

/// The extreme of `count` numbers, at least 1.
int8_t largest(const int8_t* x, int64_t count);
int8_t smallest(const int8_t* x, int64_t count);
uint8_t largest(const uint8_t* x, int64_t count);
uint8_t smallest(const uint8_t* x, int64_t count);

/// The first index in [begin, end) whose element is above `bound`; `end` if none is.
int64_t first_above(const int32_t* x, int64_t begin, int64_t end, int32_t bound);

}  // namespace gantry::cpu::simd
