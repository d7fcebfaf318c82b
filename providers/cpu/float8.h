// SPDX-License-Identifier: Apache-2.0
// The 8-bit floats as one-byte structs with explicit conversions to and from f32. Pure and
// thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace gantry::cpu {

/// An 8-bit float with sign. `kSpecials` says what encodes infinities and NaN.
enum class Specials {
  kIeee,      ///< the highest exponent, as in IEEE 754 (E5M2)
  kFinite,    ///< NaN is all ones but the sign; no infinity (E4M3FN)
  kUnsigned0  ///< NaN is what would be -0; no infinity (the FNUZ types)
};

template <int kMantissa, int kBias, Specials kSpecials>
struct Float8 {
  uint8_t bits;

  /// Bits of the largest finite number, of NaN and (kIeee only) of infinity.
  static constexpr uint8_t kMax = kSpecials == Specials::kIeee     ? 0x7B
                                  : kSpecials == Specials::kFinite ? 0x7E
                                                                   : 0x7F;
  static constexpr uint8_t kNan = kSpecials == Specials::kUnsigned0 ? 0x80 : 0x7F;
  static constexpr uint8_t kInfinity = kSpecials == Specials::kIeee ? 0x7C : kNan;

  Float8() = default;
  /// Rounds to nearest even; values out of range become the largest finite number.
  explicit Float8(float value) : bits(encode(value, true)) {}
  explicit operator float() const { return decode(bits); }
  /// As the constructor, but without `saturate` values out of range become infinity, or NaN if the
  /// type has no infinity.
  static Float8 from_float(float value, bool saturate) {
    return std::bit_cast<Float8>(encode(value, saturate));
  }

 private:
  static float decode(uint8_t bits) {
    const int magnitude = bits & 0x7F;
    if (kSpecials == Specials::kUnsigned0 ? bits == kNan
                                          : magnitude > kInfinity || magnitude == 0x7F) {
      return std::numeric_limits<float>::quiet_NaN();
    }
    float result;
    if (kSpecials == Specials::kIeee && magnitude == kInfinity) {
      result = std::numeric_limits<float>::infinity();
    } else {
      // As in Float16: place the bits at binary32's, then correct the bias by a product.
      const auto raw = std::bit_cast<float>(static_cast<uint32_t>(magnitude) << (23 - kMantissa));
      result = raw * std::bit_cast<float>(static_cast<uint32_t>(127 + 127 - kBias) << 23);
    }
    return bits & 0x80 ? -result : result;
  }
  static uint8_t encode(float value, bool saturate) {
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint8_t>((all >> 24) & 0x80U);
    const uint32_t magnitude = all & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U)
      return kSpecials == Specials::kUnsigned0 ? kNan : static_cast<uint8_t>(sign | kNan);
    constexpr int kShift = 23 - kMantissa;
    constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(127 - kBias + 1) << 23;
    uint32_t result;
    if (magnitude < kSmallestNormal) {
      // The adder rounds to multiples of the smallest subnormal, 2^(1 - bias - mantissa).
      const uint32_t magic = static_cast<uint32_t>(127 + 1 - kBias - kMantissa + 23) << 23;
      result =
          std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(magic)) -
          magic;
    } else {
      const uint32_t half_even = ((1U << (kShift - 1)) - 1) + ((magnitude >> kShift) & 1U);
      result = (magnitude + half_even - (static_cast<uint32_t>(127 - kBias) << 23)) >> kShift;
    }
    if (result > kMax) {
      if (!saturate)
        return kSpecials == Specials::kUnsigned0 ? kNan : static_cast<uint8_t>(sign | kInfinity);
      result = kMax;
    }
    if (kSpecials == Specials::kUnsigned0 && result == 0) return 0;
    return static_cast<uint8_t>(sign | result);
  }
};

using Float8E4M3FN = Float8<3, 7, Specials::kFinite>;
using Float8E4M3FNUZ = Float8<3, 8, Specials::kUnsigned0>;
using Float8E5M2 = Float8<2, 15, Specials::kIeee>;
using Float8E5M2FNUZ = Float8<2, 16, Specials::kUnsigned0>;

/// A power of two from 2^-127 to 2^127, or NaN; no sign and no zero. The scale type of the OCP
/// microscaling formats.
struct Float8E8M0 {
  uint8_t bits;

  enum class Round { kUp, kDown, kNearest };

  Float8E8M0() = default;
  explicit Float8E8M0(float value) : bits(encode(value, Round::kUp, true)) {}
  explicit operator float() const {
    if (bits == 0xFF) return std::numeric_limits<float>::quiet_NaN();
    return bits == 0 ? 0x1p-127F : std::bit_cast<float>(static_cast<uint32_t>(bits) << 23);
  }
  /// Drops the sign. If `saturate`, values above the range become 2^127 and values below it 2^-127;
  /// otherwise both become NaN.
  static Float8E8M0 from_float(float value, Round round, bool saturate) {
    return std::bit_cast<Float8E8M0>(encode(value, round, saturate));
  }

 private:
  static uint8_t encode(float value, Round round, bool saturate) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return 0xFF;
    if (magnitude == 0x7F800000U) return saturate ? 0xFE : 0xFF;
    if (magnitude < 0x400000U && !saturate) return 0xFF;
    uint32_t exponent = magnitude >> 23;
    const uint32_t fraction = magnitude & 0x7FFFFFU;
    if (exponent == 0) {
      // Subnormals lie below 2^-126; 2^-127 is the fraction 0x400000.
      if (round == Round::kUp) return fraction > 0x400000U ? 1 : 0;
      return round == Round::kNearest && fraction >= 0x600000U ? 1 : 0;
    }
    const bool up =
        round == Round::kUp ? fraction != 0 : round == Round::kNearest && fraction >= 0x400000U;
    if (up) ++exponent;
    if (exponent >= 0xFFU) return saturate ? 0xFE : 0xFF;
    return static_cast<uint8_t>(exponent);
  }
};

}  // namespace gantry::cpu
