// SPDX-License-Identifier: Apache-2.0
// Integer loops over dense arrays, with SIMD. Highway selects the instruction set on the first
// call. An output is the same array as an input or does not overlap it. Any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// y[i] = the low 8 bits of x[i] truncated to int32; 0 if x[i] is NaN or outside the range of
/// int32.
void to_bytes(const float* x, uint8_t* y, int64_t count);
/// y[i] = x[i] truncated to int64; INT64_MIN if x[i] is NaN or outside the range of int64.
void to_int64(const float* x, int64_t* y, int64_t count);

/// y[i] = a[i * a_stride] / b[i * b_stride], truncated; strides are 0 or 1. x / 0 is 0, and
/// INT32_MIN / -1 is INT32_MIN.
void divide(const int32_t* a, int64_t a_stride, const int32_t* b, int64_t b_stride, int32_t* y,
            int64_t count);

/// The largest or smallest of `count` elements. Requires count >= 1.
int8_t largest(const int8_t* x, int64_t count);
int8_t smallest(const int8_t* x, int64_t count);
uint8_t largest(const uint8_t* x, int64_t count);
uint8_t smallest(const uint8_t* x, int64_t count);

/// The first index in [begin, end) whose element is above `bound`; `end` if none is.
int64_t first_above(const int32_t* x, int64_t begin, int64_t end, int32_t bound);

}  // namespace gantry::cpu::simd
