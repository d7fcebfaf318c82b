// SPDX-License-Identifier: Apache-2.0
// Element-wise loops over dense arrays of f32 and f64 for the best instruction set of the machine
// (Highway chooses on first use). Output and inputs are equal or do not overlap; no alignment is
// needed. Any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// y[i] = f(x[i]); `p` holds the parameters that the function names in brackets.
using Map = void(const float* x, float* y, int64_t count, const float* p);

Map abs, neg, relu, sqrt, reciprocal, ceil, floor, round, square, cube;
Map power_half;  // the square root, but of -infinity infinity and of -0 0, as pow has it
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
Zip maximum, minimum;  // NaN if either is

/// y[i] = condition[i] ? a[i * a_stride] : b[i * b_stride]
void select(const uint8_t* condition, const float* a, int64_t a_stride, const float* b,
            int64_t b_stride, float* y, int64_t count);

/// y[i] = 1 if x[i] is an infinity of a sign that is asked for, else 0.
void is_infinite(const float* x, uint8_t* y, int64_t count, bool positive, bool negative);

/// Between the bits of IEEE binary16 numbers and f32, rounding to nearest even.
void widen(const uint16_t* half, float* y, int64_t count);
void narrow(const float* x, uint16_t* half, int64_t count);

}  // namespace gantry::cpu::simd
