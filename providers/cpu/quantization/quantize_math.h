// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear of 8- and 16-bit integers, with SIMD. Highway selects the
// instruction set on the first call. Pure, any thread; outputs must not overlap inputs.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// y[i] = saturate(round(x[i] / scale[i / share]) + zero[i / share]), halves to even; NaN becomes
/// the least value of the type. `scale` null: x is already divided. Requires zero points that are
/// integers in the range of y, and share > 0.
void quantize(const float* x, const float* scale, const float* zero, int64_t share, uint8_t* y,
              int64_t count);
void quantize(const float* x, const float* scale, const float* zero, int64_t share, int8_t* y,
              int64_t count);
void quantize(const float* x, const float* scale, const float* zero, int64_t share, uint16_t* y,
              int64_t count);
void quantize(const float* x, const float* scale, const float* zero, int64_t share, int16_t* y,
              int64_t count);

/// y[i] = (x[i] - zero[i / share]) * scale[i / share], all in f32. Requires share > 0.
void dequantize(const uint8_t* x, const float* scale, const float* zero, int64_t share, float* y,
                int64_t count);
void dequantize(const int8_t* x, const float* scale, const float* zero, int64_t share, float* y,
                int64_t count);
void dequantize(const uint16_t* x, const float* scale, const float* zero, int64_t share, float* y,
                int64_t count);
void dequantize(const int16_t* x, const float* scale, const float* zero, int64_t share, float* y,
                int64_t count);
void dequantize(const int32_t* x, const float* scale, const float* zero, int64_t share, float* y,
                int64_t count);

/// Sets `least` and `greatest` to those of the elements of x and 0, ignoring NaNs.
void range_with_zero(const float* x, int64_t count, float* least, float* greatest);

}  // namespace gantry::cpu::simd
