// SPDX-License-Identifier: Apache-2.0
// Shared by the quantizing operators: element types, and rounding to a quantized type. Plain
// values, any thread.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "convert.h"
#include "dispatch.h"

namespace gantry::cpu {

using QuantizedIntegers = TypeList<uint8_t, int8_t, uint16_t, int16_t, UInt4, Int4, UInt2, Int2>;
using QuantizedFloats =
    TypeList<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float4E2M1>;
using QuantizedTypes = Concat<QuantizedIntegers, QuantizedFloats>;
using ScaleTypes = TypeList<float, Float16, BFloat16, Float8E8M0, int32_t>;

/// True for the types of QuantizedIntegers.
template <class U>
inline constexpr bool kIsQuantizedInteger = std::is_integral_v<U> || requires {
  U::kLeast;
};
/// Least and greatest value of a quantized integer type.
template <class U>
constexpr int least_of() {
  if constexpr (std::is_integral_v<U>) {
    return std::numeric_limits<U>::min();
  } else {
    return U::kLeast;
  }
}
template <class U>
constexpr int greatest_of() {
  if constexpr (std::is_integral_v<U>) {
    return std::numeric_limits<U>::max();
  } else {
    return U::kGreatest;
  }
}

/// Nearest integer, halves to even. It calls nothing, so that loops vectorize. The result is
/// clamped to [-2^21, 2^21], beyond which every quantized type saturates.
template <class C>
C round_bounded(C x) {
  constexpr C kLimit = C(1 << 21);
  constexpr C kMagic = std::is_same_v<C, float> ? C(0x1.8p23) : C(0x1.8p52);
  const C bounded = x > -kLimit ? (x < kLimit ? x : kLimit) : -kLimit;
  return (bounded + kMagic) - kMagic;
}

/// `x` is already divided by the scale. Integer types: saturate(round(x) + zero_point). Float
/// types: x + zero_point rounded to U; `saturate` is attribute saturate.
template <class U, class C>
U quantize(C x, C zero_point, bool saturate) {
  if constexpr (kIsQuantizedInteger<U>) {
    constexpr C kLow = C(least_of<U>());
    constexpr C kHigh = C(greatest_of<U>());
    const C sum = round_bounded(x) + zero_point;
    const int value = static_cast<int>(sum > kLow ? (sum < kHigh ? sum : kHigh) : kLow);
    if constexpr (SmallNumber<U>) {
      return {static_cast<uint8_t>(value & ((1 << U::kBits) - 1))};
    } else {
      return static_cast<U>(value);
    }
  } else if constexpr (std::is_same_v<U, Float4E2M1>) {
    return U::from_float(static_cast<float>(x + zero_point));
  } else {
    return U::from_float(static_cast<float>(x + zero_point), saturate);
  }
}

}  // namespace gantry::cpu
