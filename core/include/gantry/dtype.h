// SPDX-License-Identifier: Apache-2.0
// Element types of tensors. The numbers are those of ONNX TensorProto.DataType.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gantry {

enum class DType : uint32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3Fn = 17,
  kFloat8E4M3Fnuz = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2Fnuz = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};

/// Lower-case name as ONNX and NumPy write it: "float32", "int64", "bfloat16"; "undefined" for
/// unknown numbers.
std::string_view to_string(DType dtype) noexcept;
/// The type of that name; kUndefined if there is none.
DType dtype_from_string(std::string_view name) noexcept;
/// Bits of one element: 2, 4, 6, 8, 16, 32, 64 or 128; 0 for strings and unknown types.
uint32_t bits_of(DType dtype) noexcept;
/// Bytes of `element_count` dense elements, packed types rounded up. Requires element_count >= 0.
/// INVALID_ARGUMENT: the size does not fit 63 bits.
uint64_t bytes_of(DType dtype, int64_t element_count);
/// The bits of element `index` of packed data, for types of `bits` < 8. Elements follow each other
/// without gaps, the first in the lowest bits of the first byte, so 6-bit elements may cross bytes.
inline uint8_t load_packed(const void* data, size_t index, uint32_t bits) noexcept {
  const size_t offset = index % 8 * bits;
  const uint8_t* byte = static_cast<const uint8_t*>(data) + index / 8 * bits + offset / 8;
  const size_t shift = offset % 8;
  uint32_t both = *byte;
  if (shift + bits > 8) both |= uint32_t{byte[1]} << 8;
  return static_cast<uint8_t>(both >> shift & ((1U << bits) - 1));
}
/// Writes the lowest `bits` of `code` as element `index`. Requires that the element's bits are zero
/// and that no other thread writes its bytes.
inline void fill_packed(void* data, size_t index, uint32_t bits, uint8_t code) noexcept {
  const size_t offset = index % 8 * bits;
  uint8_t* byte = static_cast<uint8_t*>(data) + index / 8 * bits + offset / 8;
  const size_t shift = offset % 8;
  const uint32_t both = (code & ((1U << bits) - 1)) << shift;
  byte[0] = static_cast<uint8_t>(byte[0] | both);
  if (shift + bits > 8) byte[1] = static_cast<uint8_t>(byte[1] | both >> 8);
}
/// Number of elements of a shape. INVALID_ARGUMENT: a negative extent, or the product does not fit
/// 63 bits.
int64_t element_count(std::span<const int64_t> shape);

/// DType of a C++ type: dtype_of<float>() is kFloat.
template <class T>
constexpr DType dtype_of() = delete;
template <>
constexpr DType dtype_of<float>() {
  return DType::kFloat;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::kDouble;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::kBool;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::kInt8;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::kInt16;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::kInt64;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::kUint8;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::kUint16;
}
template <>
constexpr DType dtype_of<uint32_t>() {
  return DType::kUint32;
}
template <>
constexpr DType dtype_of<uint64_t>() {
  return DType::kUint64;
}

}  // namespace gantry
