// SPDX-License-Identifier: Apache-2.0
// The element types that C++ lacks: 16-bit floats as one-member structs with explicit conversions,
// and with float8.h and packed.h the narrower ones. Arithmetic on the small floats happens in
// `Compute<T>`. Everything is pure and thread-safe.
#pragma once

#include <gantry/provider.h>

#include <bit>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "float8.h"
#include "packed.h"

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

 private:
  static uint16_t encode(float value) {
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (all >> 16) & 0x8000U;
    const uint32_t magnitude = all & 0x7FFFFFFFU;
    uint32_t result = (magnitude - (112U << 23) + 0xFFFU + ((magnitude >> 13) & 1U)) >> 13;
    // Below 2^-14: adding 0.5 makes the adder itself round to multiples of 2^-24.
    const uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
                          std::bit_cast<uint32_t>(0.5F);
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
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

 private:
  static uint16_t encode(float value) {
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (all + 0x7FFFU + ((all >> 16) & 1U)) >> 16;
    const bool is_nan = (all & 0x7FFFFFFFU) > 0x7F800000U;
    return static_cast<uint16_t>(is_nan ? (all >> 16) | 0x40U : rounded);
  }
};

/// A boolean element of a tensor: every byte but 0 is true. Reading such a byte as a C++ bool would
/// be undefined.
struct Boolean {
  uint8_t byte;

  Boolean() = default;
  explicit Boolean(bool value) : byte(value ? 1 : 0) {}
  explicit operator bool() const { return byte != 0; }
};

/// The numeric structs of this file, float8.h and packed.h.
template <class T>
concept SmallNumber = requires(T x) {
  x.bits;
};
/// The type in which arithmetic on T is done: float for small numbers, bool for Boolean, T
/// otherwise.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, Boolean>, bool,
                                   std::conditional_t<SmallNumber<T>, float, T>>;

/// True for float, double and the 16-bit floats.
template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<Compute<T>>;

/// ONNX element type of a C++ type.
template <class T>
inline constexpr uint32_t kDType = GANTRY_UNDEFINED;
template <>
inline constexpr uint32_t kDType<float> = GANTRY_FLOAT;
template <>
inline constexpr uint32_t kDType<double> = GANTRY_DOUBLE;
template <>
inline constexpr uint32_t kDType<uint8_t> = GANTRY_UINT8;
template <>
inline constexpr uint32_t kDType<int8_t> = GANTRY_INT8;
template <>
inline constexpr uint32_t kDType<uint16_t> = GANTRY_UINT16;
template <>
inline constexpr uint32_t kDType<int16_t> = GANTRY_INT16;
template <>
inline constexpr uint32_t kDType<uint32_t> = GANTRY_UINT32;
template <>
inline constexpr uint32_t kDType<int32_t> = GANTRY_INT32;
template <>
inline constexpr uint32_t kDType<uint64_t> = GANTRY_UINT64;
template <>
inline constexpr uint32_t kDType<int64_t> = GANTRY_INT64;
template <>
inline constexpr uint32_t kDType<bool> = GANTRY_BOOL;
template <>
inline constexpr uint32_t kDType<Boolean> = GANTRY_BOOL;
template <>
inline constexpr uint32_t kDType<Float16> = GANTRY_FLOAT16;
template <>
inline constexpr uint32_t kDType<BFloat16> = GANTRY_BFLOAT16;
template <>
inline constexpr uint32_t kDType<std::complex<float>> = GANTRY_COMPLEX64;
template <>
inline constexpr uint32_t kDType<std::complex<double>> = GANTRY_COMPLEX128;
template <>
inline constexpr uint32_t kDType<Float8E4M3FN> = GANTRY_FLOAT8E4M3FN;
template <>
inline constexpr uint32_t kDType<Float8E4M3FNUZ> = GANTRY_FLOAT8E4M3FNUZ;
template <>
inline constexpr uint32_t kDType<Float8E5M2> = GANTRY_FLOAT8E5M2;
template <>
inline constexpr uint32_t kDType<Float8E5M2FNUZ> = GANTRY_FLOAT8E5M2FNUZ;
template <>
inline constexpr uint32_t kDType<Float8E8M0> = GANTRY_FLOAT8E8M0;
template <>
inline constexpr uint32_t kDType<UInt4> = GANTRY_UINT4;
template <>
inline constexpr uint32_t kDType<Int4> = GANTRY_INT4;
template <>
inline constexpr uint32_t kDType<Float4E2M1> = GANTRY_FLOAT4E2M1;
template <>
inline constexpr uint32_t kDType<UInt2> = GANTRY_UINT2;
template <>
inline constexpr uint32_t kDType<Int2> = GANTRY_INT2;

}  // namespace gantry::cpu
