// SPDX-License-Identifier: Apache-2.0
// Element-wise loops over dense arrays of f32 and f64, with SIMD. Highway selects the instruction
// set on the first call. An output is the same array as an input or does not overlap it. No
// alignment is needed. Any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// y[i] = f(x[i]). `p` holds the parameters that are listed in brackets behind a function.
using Map = void(const float* x, float* y, int64_t count, const float* p);

Map abs, neg, relu, sqrt, reciprocal, ceil, floor, round, square, cube;
Map power_half;  // pow(x, 0.5): as sqrt, but infinity for -infinity and 0 for -0
Map exp, log, tanh, sigmoid, erf, softplus, softsign, mish, gelu, gelu_tanh, hard_swish;
Map leaky_relu;                  // [alpha]
Map thresholded_relu;            // [alpha]
Map elu;                         // [alpha]
Map celu;                        // [alpha]
Map selu;                        // [alpha, gamma]
Map hard_sigmoid;                // [alpha, beta]
Map swish;                       // [alpha]
Map clip;                        // [low, high]; NaN stays
Map sin, cos, asin, acos, atan;  // within 3 ulp

/// y[i] = f(x[i]) in f64.
using DoubleMap = void(const double* x, double* y, int64_t count);
DoubleMap floor, ceil, round;  // halves to even
DoubleMap sqrt;
DoubleMap tanh;  // within 4 ulp

/// y[i] = f(a[i * a_stride], b[i * b_stride]); strides are 0 or 1.
using Zip = void(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* y,
                 int64_t count);

Zip add, sub, mul, div, prelu;
Zip maximum, minimum;  // NaN if either input is NaN

/// y[i] = condition[i] ? a[i * a_stride] : b[i * b_stride]
void select(const uint8_t* condition, const float* a, int64_t a_stride, const float* b,
            int64_t b_stride, float* y, int64_t count);

/// y[i] = 1 if x[i] is infinity and `positive`, or -infinity and `negative`; else 0.
void is_infinite(const float* x, uint8_t* y, int64_t count, bool positive, bool negative);

/// Converts between bit patterns of IEEE binary16 and f32; narrow() rounds to nearest even.
void widen(const uint16_t* half, float* y, int64_t count);
void narrow(const float* x, uint16_t* half, int64_t count);

}  // namespace gantry::cpu::simd
