// SPDX-License-Identifier: Apache-2.0
// The 6-bit floats of the OCP microscaling formats (E2M3, E3M2), and access to packed elements of
// 2, 4 or 6 bits. Four 6-bit elements take three bytes. Pure and thread-safe.
#pragma once

#include <gantry/sdk/rows.h>

#include <bit>
#include <cstdint>

#include "dispatch.h"
#include "types.h"

namespace gantry::cpu {

/// A float of 6 bits: sign, exponent, `kMantissa` bits; without infinities and NaN. A packed type,
/// as those of packed.h.
template <int kMantissa, int kBias>
struct Float6 {
  uint8_t bits;
  static constexpr int kBits = 6;

  explicit operator float() const {
    // As in Float8: place the bits at binary32's, then correct the bias by a product.
    const auto raw = std::bit_cast<float>(static_cast<uint32_t>(bits & 31U) << (23 - kMantissa));
    const float magnitude =
        raw * std::bit_cast<float>(static_cast<uint32_t>(127 + 127 - kBias) << 23);
    return bits & 32U ? -magnitude : magnitude;
  }
  explicit operator int() const { return static_cast<int>(static_cast<float>(*this)); }
  /// Rounds to nearest even. Values out of range become the largest number, with `saturate` or
  /// without: the type has neither infinity nor NaN. NaN becomes a zero of the other sign, as for
  /// Float4E2M1.
  static Float6 from_float(float value, bool /*saturate*/) {
    const auto all = std::bit_cast<uint32_t>(value);
    const uint32_t sign = all >> 31 << 5;
    const uint32_t magnitude = all & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return {static_cast<uint8_t>(sign ^ 32U)};
    constexpr int kShift = 23 - kMantissa;
    constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(127 - kBias + 1) << 23;
    uint32_t code;
    if (magnitude < kSmallestNormal) {
      // The adder rounds to multiples of the smallest subnormal, 2^(1 - bias - mantissa).
      constexpr uint32_t kMagic = static_cast<uint32_t>(127 + 1 - kBias - kMantissa + 23) << 23;
      const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic);
      code = std::bit_cast<uint32_t>(sum) - kMagic;
    } else {
      const uint32_t half_even = ((1U << (kShift - 1)) - 1) + ((magnitude >> kShift) & 1U);
      code = (magnitude + half_even - (static_cast<uint32_t>(127 - kBias) << 23)) >> kShift;
    }
    return {static_cast<uint8_t>(sign | (code < 31U ? code : 31U))};
  }
};
using Float6E2M3 = Float6<3, 1>;
using Float6E3M2 = Float6<2, 3>;

template <>
inline constexpr uint32_t kDType<Float6E2M3> = GANTRY_FLOAT6E2M3;
template <>
inline constexpr uint32_t kDType<Float6E3M2> = GANTRY_FLOAT6E3M2;

using Float6Types = TypeList<Float6E2M3, Float6E3M2>;
inline constexpr sdk::DTypeSet kFloat6s = dtype_set(Float6Types{});

/// Small floats whose from_float() takes `saturate`.
template <class T>
concept SaturatingFloat = requires {
  T::from_float(0.0F, true);
};

/// A group is the least number of elements of `bits` (2, 4 or 6) bits that fill whole bytes.
/// Threads that write the same tensor must each own whole groups.
constexpr int group_elements(int bits) { return bits == 6 ? 4 : 8 / bits; }
constexpr int group_bytes(int bits) { return bits == 6 ? 3 : 1; }

/// True for types of fewer than 8 bits.
constexpr bool is_sub_byte(uint32_t dtype) { return bits_of(dtype) > 0 && bits_of(dtype) < 8; }

/// Bit pattern of element `index` of packed data with `bits` (2, 4 or 6) bits an element.
inline uint8_t load_code(const void* data, int64_t index, int bits) {
  const int64_t group = index / group_elements(bits);
  const int offset = static_cast<int>(index % group_elements(bits)) * bits;
  const uint8_t* byte = static_cast<const uint8_t*>(data) + group * group_bytes(bits) + offset / 8;
  int both = byte[0];
  if (offset % 8 + bits > 8) both |= byte[1] << 8;
  return static_cast<uint8_t>((both >> (offset % 8)) & ((1 << bits) - 1));
}
/// Writes the first `count` elements of a group, at most group_elements(bits). `code_at(i)` is the
/// bit pattern of element i. Unused bits of the last byte are zero.
template <class F>
void store_group(uint8_t* bytes, int bits, int64_t count, F&& code_at) {
  uint32_t all = 0;
  for (int i = 0; i < count; ++i) all |= static_cast<uint32_t>(code_at(i)) << (i * bits);
  for (int64_t byte = 0; byte * 8 < count * bits; ++byte)
    bytes[byte] = static_cast<uint8_t>(all >> (8 * byte));
}
/// Writes elements [begin, end) of packed data. `code_at(i)` is the bit pattern of element i.
/// Requires that `begin` starts a group.
template <class F>
void store_codes(void* data, int bits, int64_t begin, int64_t end, F&& code_at) {
  const int64_t group = group_elements(bits);
  uint8_t* bytes = static_cast<uint8_t*>(data) + begin / group * group_bytes(bits);
  for (int64_t i = begin; i < end; i += group) {
    store_group(bytes, bits, end - i < group ? end - i : group,
                [&](int k) { return code_at(i + k); });
    bytes += group_bytes(bits);
  }
}

}  // namespace gantry::cpu
