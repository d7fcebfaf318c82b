// SPDX-License-Identifier: Apache-2.0
// Element-wise loops over dense f64 arrays for the best instruction set of the machine (Highway
// chooses on first use). Output and input are equal or do not overlap. Any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// y[i] = f(x[i])
using DoubleMap = void(const double* x, double* y, int64_t count);

DoubleMap floor, ceil, round;  // halves to even
DoubleMap sqrt;
DoubleMap tanh;  // within 4 ulp

}  // namespace gantry::cpu::simd
