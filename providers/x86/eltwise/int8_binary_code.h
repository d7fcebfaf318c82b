// SPDX-License-Identifier: Apache-2.0
// Sums, differences and products of two int8 tensors, element by element, and of one with
// factors and shifts in floats, with results of int8. Written once with Highway for all
// instruction sets, see simd/instructions.h. Pure functions, from any thread.
#pragma once

#include <cstdint>
#include <limits>

#include "fuse/quantization.h"

namespace gantry::x86 {

/// What two int8 values become: their differences d and e to the zero points are made
/// d * e * factor of products, and d * first + e * second of sums, in the scale of the results.
struct Int8Binary {
  bool multiplies = false;
  Quantization first;
  Quantization second;
  Quantization target;
  float first_factor = 1;   ///< of a product: of both
  float second_factor = 0;  ///< of a sum or difference
  /// Of results in the scale of the target, before its zero point.
  float lowest = -std::numeric_limits<float>::infinity();
  float highest = std::numeric_limits<float>::infinity();
};

/// to[i] of a[i] and b[i]. `to` may be one of them.
void pair_each(const Int8Binary& pair, const uint8_t* a, const uint8_t* b, uint8_t* to,
               int64_t count);
/// to[i] of a[i] and b.
void pair_all(const Int8Binary& pair, const uint8_t* a, uint8_t b, uint8_t* to, int64_t count);

/// to[i] of a[i], whose difference to the zero point is multiplied by a factor of its own, and a
/// shift of its own in the scale of the target. Of the pair only the first and the target count.
void scale_each(const Int8Binary& pair, const float* factors, const float* shifts, const uint8_t* a,
                uint8_t* to, int64_t count);
/// The same with one factor and one shift for all.
void scale_all(const Int8Binary& pair, float factor, float shift, const uint8_t* a, uint8_t* to,
               int64_t count);

}  // namespace gantry::x86
