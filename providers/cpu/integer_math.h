// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic that is defined for all operands: results wrap as in two's complement, and a
// quotient or remainder by zero is 0. Floating point passes through unchanged.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace gantry::cpu {

/// An unsigned type in which arithmetic on T wraps without promotion to int.
template <class T>
using Wrapping = decltype(std::make_unsigned_t<T>{} + 0U);

template <class T>
T wrap_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  } else {
    return a + b;
  }
}
template <class T>
T wrap_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  } else {
    return a - b;
  }
}
template <class T>
T wrap_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  } else {
    return a * b;
  }
}
template <class T>
T wrap_div(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return wrap_sub(T{0}, a);
    }
    return static_cast<T>(a / b);
  } else {
    return a / b;
  }
}
/// std::fmod(a, b), also exact, but faster for quotients below 2^29: one division in f64. The
/// product of such a quotient and b has at most 53 bits, so it is exact.
inline float remainder_of(float a, float b) {
  const double divisor = b;
  const double quotient = a / divisor;
  // Also an infinite or zero divisor, and NaN.
  if (!(std::fabs(quotient) < 0x1p29) || !(std::fabs(b) <= std::numeric_limits<float>::max()))
    return std::fmod(a, b);
  double rest = a - static_cast<double>(static_cast<int32_t>(quotient)) * divisor;
  // The quotient may have been rounded to the next whole number.
  if (a > 0 ? rest < 0 : rest > 0) rest += std::copysign(divisor, static_cast<double>(a));
  return std::copysign(static_cast<float>(rest), a);
}
/// Remainder with the sign of `a`.
template <class T>
T truncated_mod(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  } else if constexpr (std::is_same_v<T, float>) {
    return remainder_of(a, b);
  } else {
    return std::fmod(a, b);
  }
}
/// Remainder with the sign of `b`; a floating-point zero too has the sign of `b`.
template <class T>
T floored_mod(T a, T b) {
  const T rest = truncated_mod(a, b);
  if constexpr (std::is_floating_point_v<T>) {
    if (rest == 0) return std::copysign(T{0}, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (rest != 0 && (rest < 0) != (b < 0)) return static_cast<T>(rest + b);
    }
    return rest;
  }
}
/// a^b for b >= 0 by squaring. For b < 0 the truncated fraction: 1 or -1 if a is 1 or -1, else 0.
template <class T, class E>
T integer_pow(T a, E b) {
  if constexpr (std::is_signed_v<E>) {
    if (b < 0) return a == 1 ? T{1} : a == T(-1) ? (b % 2 ? T(-1) : T{1}) : T{0};
  }
  T result = 1;
  for (auto rest = static_cast<uint64_t>(b); rest != 0; rest >>= 1) {
    if (rest & 1) result = wrap_mul(result, a);
    a = wrap_mul(a, a);
  }
  return result;
}

/// Converts floating point to integer, truncating. Values out of range and NaN give the results of
/// x86 instructions, without undefined behaviour.
template <class I, class F>
I to_integer(F x) {
  if constexpr (sizeof(I) < 4) {
    return static_cast<I>(to_integer<int32_t>(x));
  } else if constexpr (std::is_same_v<I, uint32_t>) {
    return static_cast<uint32_t>(to_integer<int64_t>(x));
  } else if constexpr (std::is_same_v<I, uint64_t>) {
    if (!(x >= F(0x1p63))) return static_cast<uint64_t>(to_integer<int64_t>(x));
    return x < F(0x1p64) ? static_cast<uint64_t>(x) : 0;
  } else {
    constexpr F kLimit = sizeof(I) == 4 ? F(0x1p31) : F(0x1p63);
    return x >= -kLimit && x < kLimit ? static_cast<I>(x) : std::numeric_limits<I>::min();
  }
}

}  // namespace gantry::cpu
