// SPDX-License-Identifier: Apache-2.0
// Element-wise Add, Sub and Mul of two int8 tensors, and scale and shift of one by f32 operands,
// with int8 results. Written once with Highway for all instruction sets (simd/instructions.h). Pure
// functions, from any thread.
#pragma once

#include <cstdint>
#include <limits>

#include "fuse/quantization.h"

namespace gantry::x86 {

/// With d and e the operands less their zero points, a product is d * e * first_factor, and a sum d
/// * first_factor + e * second_factor, both in units of the target's scale. Then the result is
/// clipped, rounded to nearest even, and the target's zero point is added.
struct Int8Binary {
  bool multiplies = false;  ///< product, else sum
  Quantization first;
  Quantization second;
  Quantization target;
  float first_factor = 1;
  float second_factor = 0;  ///< of a sum; negative for a difference
  /// Bounds of the clip, in units of the target's scale, before its zero point.
  float lowest = -std::numeric_limits<float>::infinity();
  float highest = std::numeric_limits<float>::infinity();
};

/// to[i] = pair(a[i], b[i]). `to` may be a or b.
void pair_each(const Int8Binary& pair, const uint8_t* a, const uint8_t* b, uint8_t* to,
               int64_t count);
/// to[i] = pair(a[i], b).
void pair_all(const Int8Binary& pair, const uint8_t* a, uint8_t b, uint8_t* to, int64_t count);

/// to[i] = (a[i] - zero point) * factors[i] + shifts[i], in units of the target's scale, clipped
/// and rounded likewise. Reads only `first`, `target` and the bounds of the pair.
void scale_each(const Int8Binary& pair, const float* factors, const float* shifts, const uint8_t* a,
                uint8_t* to, int64_t count);
/// The same with one factor and one shift for all.
void scale_all(const Int8Binary& pair, float factor, float shift, const uint8_t* a, uint8_t* to,
               int64_t count);

}  // namespace gantry::x86
