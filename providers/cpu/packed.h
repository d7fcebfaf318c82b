// SPDX-License-Identifier: Apache-2.0
// The 4- and 2-bit types as structs that hold one unpacked element, and sizes of tensors that pack
// several elements in a byte. Pure, any thread.
#pragma once

#include <gantry/sdk/bits.h>

#include <cmath>
#include <cstdint>

namespace gantry::cpu {

/// An integer of 4 or 2 bits, in two's complement if it is signed.
template <int kWidth, bool kIsSigned>
struct PackedInteger {
  uint8_t bits;

  static constexpr int kBits = kWidth;
  static constexpr int kLeast = kIsSigned ? -(1 << (kWidth - 1)) : 0;
  static constexpr int kGreatest = kLeast + (1 << kWidth) - 1;
  explicit operator float() const { return static_cast<float>(static_cast<int>(*this)); }
  explicit operator int() const { return (bits ^ -kLeast) + kLeast; }
};
using UInt4 = PackedInteger<4, false>;
using Int4 = PackedInteger<4, true>;
using UInt2 = PackedInteger<2, false>;
using Int2 = PackedInteger<2, true>;

/// The 4-bit float of the OCP microscaling formats; without infinities and NaN.
struct Float4E2M1 {
  uint8_t bits;
  static constexpr int kBits = 4;
  explicit operator float() const {
    constexpr float kMagnitudes[8] = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
    const float magnitude = kMagnitudes[bits & 7];
    return bits & 8 ? -magnitude : magnitude;
  }
  explicit operator int() const { return static_cast<int>(static_cast<float>(*this)); }
  /// Rounds to nearest even; saturates at 6. NaN, which the type lacks, becomes a zero of the other
  /// sign, as in ONNX's node tests.
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

using sdk::bits_of;
constexpr bool is_packed(uint32_t dtype) { return bits_of(dtype) == 2 || bits_of(dtype) == 4; }
/// Bytes of `count` elements; packed types are rounded up to whole bytes.
constexpr int64_t bytes_of(uint32_t dtype, int64_t count) {
  const int bits = bits_of(dtype);
  return bits >= 8 ? count * (bits / 8) : count / 8 * bits + (count % 8 * bits + 7) / 8;
}

}  // namespace gantry::cpu
