// SPDX-License-Identifier: Apache-2.0
// Trigonometric functions over dense f32 arrays, within 3 ulp, for the best instruction set of the
// machine. Output and input are equal or do not overlap. Any thread.
#pragma once

#include "kernels/vector_math.h"

namespace gantry::cpu::simd {

Map sin, cos, asin, acos, atan;

}  // namespace gantry::cpu::simd
