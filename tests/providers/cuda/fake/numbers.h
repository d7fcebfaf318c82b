// SPDX-License-Identifier: Apache-2.0
// Elements of the libraries' types as double, for the fake libraries.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace gantry::test {

enum class Number { kFloat, kDouble, kHalf, kBfloat };

// Floats of 16 bits: a sign, 5 bits of exponent, 10 of fraction.
inline double widened_alone(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double size = exponent == 0   ? std::ldexp(fraction, -24)
                      : exponent < 31 ? std::ldexp(1024 + fraction, exponent - 25)
                      : fraction == 0 ? HUGE_VAL
                                      : std::nan("");
  return (bits & 0x8000) != 0 ? -size : size;
}

// The same by a table: a product reads each element many times.
inline double widened(uint16_t bits) {
  static const auto* const table = [] {
    auto* made = new std::array<double, 65536>;
    for (uint32_t i = 0; i < made->size(); ++i)
      (*made)[i] = widened_alone(static_cast<uint16_t>(i));
    return made;
  }();
  return (*table)[bits];
}

inline uint16_t narrowed(double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  const int exponent = std::max(size > 0 ? std::ilogb(size) : -14, -14);
  const auto fraction = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  // A fraction that rounds up to 2048 carries into the exponent.
  const int bits = fraction < 1024 ? fraction : (exponent + 14) * 1024 + fraction;
  return static_cast<uint16_t>(sign | bits);
}

inline double read(const void* data, Number type, int64_t at) {
  switch (type) {
    case Number::kFloat:
      return static_cast<const float*>(data)[at];
    case Number::kDouble:
      return static_cast<const double*>(data)[at];
    case Number::kHalf:
      return widened(static_cast<const uint16_t*>(data)[at]);
    case Number::kBfloat:
      break;
  }
  const uint32_t bits = uint32_t{static_cast<const uint16_t*>(data)[at]} << 16;
  float wide = 0;
  std::memcpy(&wide, &bits, 4);
  return wide;
}

inline void write(void* data, Number type, int64_t at, double value) {
  if (type == Number::kFloat) static_cast<float*>(data)[at] = static_cast<float>(value);
  if (type == Number::kDouble) static_cast<double*>(data)[at] = value;
  if (type == Number::kHalf) static_cast<uint16_t*>(data)[at] = narrowed(value);
  if (type != Number::kBfloat) return;
  const auto wide = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &wide, 4);
  static_cast<uint16_t*>(data)[at] =
      static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace gantry::test
