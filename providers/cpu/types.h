// SPDX-License-Identifier: Apache-2.0
// The element types that C++ lacks: 16-bit and 8-bit floats as one-member structs with explicit conversions, and access to
// the packed 4- and 2-bit types. Arithmetic on the small floats happens in `Compute<T>`. Everything is pure and thread-safe.
#pragma once

#include <gantry/provider.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace gantry::cpu {

/// IEEE binary16.
struct Float16 {
  uint16_t bits;

  Float16() = default;
  explicit Float16(float value) : bits(encode(value)) {}
  explicit operator float() const {
    const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFFU) << 13;
    // The exponents' biases differ by 112; the product also makes subnormals normal.
    uint32_t result = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
    if (magnitude >= 0x7C00U << 13) result |= 0x7F800000U;
    return std::bit_cast<float>(result | static_cast<uint32_t>(bits & 0x8000U) << 16);
  }
  static Float16 from_bits(uint16_t bits) {
    Float16 result;
    result.bits = bits;
    return result;
  }

 private:
  static uint16_t encode(float value) {
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (all >> 16) & 0x8000U;
    const uint32_t magnitude = all & 0x7FFFFFFFU;
    uint32_t result = (magnitude - (112U << 23) + 0xFFFU + ((magnitude >> 13) & 1U)) >> 13;
    // Below 2^-14: adding 0.5 makes the adder itself round to multiples of 2^-24.
    const uint32_t tiny =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<uint32_t>(0.5F);
    result = magnitude < 0x38800000U ? tiny : result;
    result = magnitude >= 0x47800000U ? 0x7C00U : result;
    result = magnitude > 0x7F800000U ? 0x7E00U : result;
    return static_cast<uint16_t>(sign | result);
  }
};

/// The upper half of a binary32.
struct BFloat16 {
  uint16_t bits;

  BFloat16() = default;
  explicit BFloat16(float value) : bits(encode(value)) {}
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static BFloat16 from_bits(uint16_t bits) {
    BFloat16 result;
    result.bits = bits;
    return result;
  }

 private:
  static uint16_t encode(float value) {
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (all + 0x7FFFU + ((all >> 16) & 1U)) >> 16;
    const bool is_nan = (all & 0x7FFFFFFFU) > 0x7F800000U;
    return static_cast<uint16_t>(is_nan ? (all >> 16) | 0x40U : rounded);
  }
};

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
  static constexpr uint8_t kMax = kSpecials == Specials::kIeee ? 0x7B : kSpecials == Specials::kFinite ? 0x7E : 0x7F;
  static constexpr uint8_t kNan = kSpecials == Specials::kUnsigned0 ? 0x80 : 0x7F;
  static constexpr uint8_t kInfinity = kSpecials == Specials::kIeee ? 0x7C : kNan;

  Float8() = default;
  /// Rounds to nearest even; what is too large becomes the largest finite number.
  explicit Float8(float value) : bits(encode(value, true)) {}
  explicit operator float() const { return decode(bits); }
  static Float8 from_bits(uint8_t bits) {
    Float8 result;
    result.bits = bits;
    return result;
  }
  /// As the constructor; without `saturate` what is too large becomes infinity, or NaN where the type has none.
  static Float8 from_float(float value, bool saturate) { return from_bits(encode(value, saturate)); }

 private:
  static float decode(uint8_t bits) {
    const int magnitude = bits & 0x7F;
    if (kSpecials == Specials::kUnsigned0 ? bits == kNan : magnitude > kInfinity || magnitude == 0x7F) {
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
    if (magnitude > 0x7F800000U) return kSpecials == Specials::kUnsigned0 ? kNan : static_cast<uint8_t>(sign | kNan);
    constexpr int kShift = 23 - kMantissa;
    constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(127 - kBias + 1) << 23;
    uint32_t result;
    if (magnitude < kSmallestNormal) {
      // The adder rounds to multiples of the smallest subnormal, 2^(1 - bias - mantissa).
      const uint32_t magic = static_cast<uint32_t>(127 + 1 - kBias - kMantissa + 23) << 23;
      result = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(magic)) - magic;
    } else {
      const uint32_t half_even = ((1U << (kShift - 1)) - 1) + ((magnitude >> kShift) & 1U);
      result = (magnitude + half_even - (static_cast<uint32_t>(127 - kBias) << 23)) >> kShift;
    }
    if (result > kMax) {
      if (!saturate) return kSpecials == Specials::kUnsigned0 ? kNan : static_cast<uint8_t>(sign | kInfinity);
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

/// A power of two from 2^-127 to 2^127, or NaN; no sign and no zero.
struct Float8E8M0 {
  uint8_t bits;

  enum class Round { kUp, kDown, kNearest };

  Float8E8M0() = default;
  explicit Float8E8M0(float value) : bits(encode(value, Round::kUp, true)) {}
  explicit operator float() const {
    if (bits == 0xFF) return std::numeric_limits<float>::quiet_NaN();
    return bits == 0 ? 0x1p-127F : std::bit_cast<float>(static_cast<uint32_t>(bits) << 23);
  }
  static Float8E8M0 from_bits(uint8_t bits) {
    Float8E8M0 result;
    result.bits = bits;
    return result;
  }
  /// The sign is dropped. If `saturate`, what is too large becomes 2^127 and what is too small 2^-127; else both become NaN.
  static Float8E8M0 from_float(float value, Round round, bool saturate) {
    return from_bits(encode(value, round, saturate));
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
    const bool up = round == Round::kUp ? fraction != 0 : round == Round::kNearest && fraction >= 0x400000U;
    if (up) ++exponent;
    if (exponent >= 0xFFU) return saturate ? 0xFE : 0xFF;
    return static_cast<uint8_t>(exponent);
  }
};

/// Packed types: the struct holds one element's bits; tensors hold several in a byte, see load_packed.
struct UInt4 {
  uint8_t bits;
  static constexpr int kBits = 4;
  explicit operator float() const { return bits; }
  explicit operator int() const { return bits; }
};
struct Int4 {
  uint8_t bits;
  static constexpr int kBits = 4;
  explicit operator float() const { return static_cast<float>(static_cast<int>(*this)); }
  explicit operator int() const { return (bits ^ 8) - 8; }
};
struct UInt2 {
  uint8_t bits;
  static constexpr int kBits = 2;
  explicit operator float() const { return bits; }
  explicit operator int() const { return bits; }
};
struct Int2 {
  uint8_t bits;
  static constexpr int kBits = 2;
  explicit operator float() const { return static_cast<float>(static_cast<int>(*this)); }
  explicit operator int() const { return (bits ^ 2) - 2; }
};
struct Float4E2M1 {
  uint8_t bits;
  static constexpr int kBits = 4;
  explicit operator float() const {
    constexpr float kMagnitudes[8] = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
    const float magnitude = kMagnitudes[bits & 7];
    return bits & 8 ? -magnitude : magnitude;
  }
  explicit operator int() const { return static_cast<int>(static_cast<float>(*this)); }
  /// Rounds to nearest even; saturates at 6. NaN, which the type lacks, becomes a zero of the other sign, as in ONNX's node
  /// tests.
  static Float4E2M1 from_float(float value) {
    const float magnitude = std::fabs(value);
    // Boundaries between neighbours; a tie goes to the even code.
    const int code = static_cast<int>(magnitude > 0.25F) + static_cast<int>(magnitude >= 0.75F) +
                     static_cast<int>(magnitude > 1.25F) + static_cast<int>(magnitude >= 1.75F) +
                     static_cast<int>(magnitude > 2.5F) + static_cast<int>(magnitude >= 3.5F) +
                     static_cast<int>(magnitude > 5.0F);
    const bool is_nan = magnitude != magnitude;
    return {static_cast<uint8_t>((std::signbit(value) != is_nan ? 8 : 0) | (is_nan ? 0 : code))};
  }
};

/// Element `index` of packed data.
template <class T>
T load_packed(const void* data, int64_t index) {
  constexpr int kPerByte = 8 / T::kBits;
  const uint8_t byte = static_cast<const uint8_t*>(data)[index / kPerByte];
  return {static_cast<uint8_t>((byte >> (index % kPerByte * T::kBits)) & ((1 << T::kBits) - 1))};
}
/// Replaces element `index`; its byte must be initialised and written by one thread only.
template <class T>
void store_packed(void* data, int64_t index, T value) {
  constexpr int kPerByte = 8 / T::kBits;
  const int shift = static_cast<int>(index % kPerByte) * T::kBits;
  uint8_t& byte = static_cast<uint8_t*>(data)[index / kPerByte];
  byte = static_cast<uint8_t>((byte & ~(((1 << T::kBits) - 1) << shift)) | (value.bits << shift));
}

/// A truth value that is read from a tensor: every byte but 0 is true, which reading a C++ bool would not allow.
struct Boolean {
  uint8_t byte;

  Boolean() = default;
  explicit Boolean(bool value) : byte(value ? 1 : 0) {}
  explicit operator bool() const { return byte != 0; }
};

template <class T>
struct ComputeOf {
  using type = T;
};
template <>
struct ComputeOf<Float16> {
  using type = float;
};
template <>
struct ComputeOf<BFloat16> {
  using type = float;
};
template <int kMantissa, int kBias, Specials kSpecials>
struct ComputeOf<Float8<kMantissa, kBias, kSpecials>> {
  using type = float;
};
template <>
struct ComputeOf<Float8E8M0> {
  using type = float;
};
template <>
struct ComputeOf<Boolean> {
  using type = bool;
};
/// The type in which arithmetic on T is done: float for the small floats, bool for Boolean, T otherwise.
template <class T>
using Compute = typename ComputeOf<T>::type;

/// True for float, double and the 16-bit floats.
template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<Compute<T>>;

/// ONNX element type of a C++ type.
template <class T>
inline constexpr uint32_t kDType = GANTRY_UNDEFINED;
template <> inline constexpr uint32_t kDType<float> = GANTRY_FLOAT;
template <> inline constexpr uint32_t kDType<double> = GANTRY_DOUBLE;
template <> inline constexpr uint32_t kDType<uint8_t> = GANTRY_UINT8;
template <> inline constexpr uint32_t kDType<int8_t> = GANTRY_INT8;
template <> inline constexpr uint32_t kDType<uint16_t> = GANTRY_UINT16;
template <> inline constexpr uint32_t kDType<int16_t> = GANTRY_INT16;
template <> inline constexpr uint32_t kDType<uint32_t> = GANTRY_UINT32;
template <> inline constexpr uint32_t kDType<int32_t> = GANTRY_INT32;
template <> inline constexpr uint32_t kDType<uint64_t> = GANTRY_UINT64;
template <> inline constexpr uint32_t kDType<int64_t> = GANTRY_INT64;
template <> inline constexpr uint32_t kDType<bool> = GANTRY_BOOL;
template <> inline constexpr uint32_t kDType<Boolean> = GANTRY_BOOL;
template <> inline constexpr uint32_t kDType<Float16> = GANTRY_FLOAT16;
template <> inline constexpr uint32_t kDType<BFloat16> = GANTRY_BFLOAT16;
template <> inline constexpr uint32_t kDType<std::complex<float>> = GANTRY_COMPLEX64;
template <> inline constexpr uint32_t kDType<std::complex<double>> = GANTRY_COMPLEX128;
template <> inline constexpr uint32_t kDType<Float8E4M3FN> = GANTRY_FLOAT8E4M3FN;
template <> inline constexpr uint32_t kDType<Float8E4M3FNUZ> = GANTRY_FLOAT8E4M3FNUZ;
template <> inline constexpr uint32_t kDType<Float8E5M2> = GANTRY_FLOAT8E5M2;
template <> inline constexpr uint32_t kDType<Float8E5M2FNUZ> = GANTRY_FLOAT8E5M2FNUZ;
template <> inline constexpr uint32_t kDType<Float8E8M0> = GANTRY_FLOAT8E8M0;
template <> inline constexpr uint32_t kDType<UInt4> = GANTRY_UINT4;
template <> inline constexpr uint32_t kDType<Int4> = GANTRY_INT4;
template <> inline constexpr uint32_t kDType<Float4E2M1> = GANTRY_FLOAT4E2M1;
template <> inline constexpr uint32_t kDType<UInt2> = GANTRY_UINT2;
template <> inline constexpr uint32_t kDType<Int2> = GANTRY_INT2;

/// Bits of one element; 0 for strings and unknown types.
constexpr int bits_of(uint32_t dtype) {
  switch (dtype) {
    case GANTRY_UINT2:
    case GANTRY_INT2:
      return 2;
    case GANTRY_UINT4:
    case GANTRY_INT4:
    case GANTRY_FLOAT4E2M1:
      return 4;
    case GANTRY_UINT8:
    case GANTRY_INT8:
    case GANTRY_BOOL:
    case GANTRY_FLOAT8E4M3FN:
    case GANTRY_FLOAT8E4M3FNUZ:
    case GANTRY_FLOAT8E5M2:
    case GANTRY_FLOAT8E5M2FNUZ:
    case GANTRY_FLOAT8E8M0:
      return 8;
    case GANTRY_UINT16:
    case GANTRY_INT16:
    case GANTRY_FLOAT16:
    case GANTRY_BFLOAT16:
      return 16;
    case GANTRY_FLOAT:
    case GANTRY_INT32:
    case GANTRY_UINT32:
      return 32;
    case GANTRY_INT64:
    case GANTRY_UINT64:
    case GANTRY_DOUBLE:
    case GANTRY_COMPLEX64:
      return 64;
    case GANTRY_COMPLEX128:
      return 128;
    default:
      return 0;
  }
}
constexpr bool is_packed(uint32_t dtype) { return bits_of(dtype) == 2 || bits_of(dtype) == 4; }
/// Bytes of `count` elements, packed types rounded up.
constexpr int64_t bytes_of(uint32_t dtype, int64_t count) {
  const int bits = bits_of(dtype);
  return bits >= 8 ? count * (bits / 8) : count / (bits ? 8 / bits : 1) + (bits && count % (8 / bits) ? 1 : 0);
}

}  // namespace gantry::cpu
