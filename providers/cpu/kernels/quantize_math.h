// SPDX-License-Identifier: Apache-2.0
// Rounding to 8- and 16-bit integers and back, in vectors. Chosen for the machine's instruction set
// when first called. Pure, any thread; outputs must not overlap inputs.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// y[i] = saturate(round(x[i] / scale) + zero), halves to even; NaN becomes the least value. With
/// `each` there are `count` scales and zeros, else one. `scale` null: x is the quotient. Zeros are
/// whole numbers of the range of y.
void quantize(const float* x, const float* scale, const float* zero, bool each, uint8_t* y,
              int64_t count);
void quantize(const float* x, const float* scale, const float* zero, bool each, int8_t* y,
              int64_t count);
void quantize(const float* x, const float* scale, const float* zero, bool each, uint16_t* y,
              int64_t count);
void quantize(const float* x, const float* scale, const float* zero, bool each, int16_t* y,
              int64_t count);

/// y[i] = (x[i] - zero) * scale, all in f32.
void dequantize(const uint8_t* x, const float* scale, const float* zero, bool each, float* y,
                int64_t count);
void dequantize(const int8_t* x, const float* scale, const float* zero, bool each, float* y,
                int64_t count);
void dequantize(const uint16_t* x, const float* scale, const float* zero, bool each, float* y,
                int64_t count);
void dequantize(const int16_t* x, const float* scale, const float* zero, bool each, float* y,
                int64_t count);
void dequantize(const int32_t* x, const float* scale, const float* zero, bool each, float* y,
                int64_t count);

/// Least and greatest of x and 0; NaNs are passed over.
void range_with_zero(const float* x, int64_t count, float* least, float* greatest);

}  // namespace gantry::cpu::simd
