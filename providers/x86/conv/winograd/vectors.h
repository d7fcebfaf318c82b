// SPDX-License-Identifier: Apache-2.0
// Vectors of one instruction set, for kernels.h, which says what must be defined before.
#pragma once

#include <cstdint>
#include <cstring>

namespace gantry::x86::winograd::GANTRY_INSTRUCTIONS {

inline constexpr int kColumns = kLanes * kVectors;

using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));
/// A vector in memory, aligned as a float.
using Packed =
    float __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));

GANTRY_TARGET inline Vector load(const float* from) {
  return *reinterpret_cast<const Packed*>(from);
}
GANTRY_TARGET inline void store(Vector x, float* to) { *reinterpret_cast<Packed*>(to) = x; }

/// The first `count` lanes, the others zero.
GANTRY_TARGET inline Vector load_some(const float* from, int64_t count) {
  if (count >= kLanes) return load(from);
  Vector x = {};
  std::memcpy(&x, from, static_cast<size_t>(count) * sizeof(float));
  return x;
}
GANTRY_TARGET inline void store_some(Vector x, float* to, int64_t count) {
  if (count >= kLanes) return store(x, to);
  std::memcpy(to, &x, static_cast<size_t>(count) * sizeof(float));
}

using Bits = int32_t __attribute__((vector_size(kLanes * sizeof(float))));

constexpr float kLeastPower = -87.0F;  ///< below it exponentials are denormal

/// exp(x) with an error of 2 ULP for x in [kLeastPower, 88]; x is clamped to that range, and NaN
/// stays NaN.
GANTRY_TARGET inline Vector exponential(Vector x) {
  constexpr float kPerOctave = 1.44269504F;
  constexpr float kHigh = 0.693359375F;  // of log(2): exact products with whole numbers
  constexpr float kLow = -2.12194440e-4F;
  constexpr float kRounding = 12582912;  // 1.5 * 2^23: adding it leaves a whole number in the bits
  const Vector zero = {};
  x = x < kLeastPower ? zero + kLeastPower : x;
  x = x > 88.0F ? zero + 88.0F : x;
  const Vector rounded = x * kPerOctave + kRounding;
  const Vector octaves = rounded - kRounding;
  const Vector rest = (x - octaves * kHigh) - octaves * kLow;
  // The series of exp, whose terms beyond the seventh are below 1e-8 for up to log(2) / 2.
  Vector sum = rest * (1.0F / 5040) + 1.0F / 720;
  sum = sum * rest + 1.0F / 120;
  sum = sum * rest + 1.0F / 24;
  sum = sum * rest + 1.0F / 6;
  sum = sum * rest + 0.5F;
  sum = sum * rest + 1.0F;
  sum = sum * rest + 1.0F;
  constexpr int kExponent = 23;
  const Bits scaled = reinterpret_cast<Bits>(sum) + (reinterpret_cast<Bits>(rounded) << kExponent);
  return x == x ? reinterpret_cast<Vector>(scaled) : x;
}

/// 1 / (1 + exp(-x)); 0 where it would be denormal, so that its product with minus infinity is NaN.
GANTRY_TARGET inline Vector sigmoid(Vector x) {
  const Vector zero = {};
  const Vector gate = 1.0F / (1.0F + exponential(-x));
  return x < kLeastPower ? zero : gate;
}

GANTRY_TARGET inline Vector mish(Vector x) {
  constexpr float kLarge = 30;  // from here on mish(x) is x
  const Vector zero = {};
  const Vector power = x < kLeastPower ? zero : exponential(x > kLarge ? zero + kLarge : x);
  const Vector ratio = power * (power + 2.0F);  // ((1 + e^x)^2 - 1) / ((1 + e^x)^2 + 1)
  return x * (ratio / (ratio + 2.0F));
}

}  // namespace gantry::x86::winograd::GANTRY_INSTRUCTIONS
