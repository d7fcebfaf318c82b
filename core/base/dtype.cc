// SPDX-License-Identifier: Apache-2.0
#include <gantry/dtype.h>
#include <gantry/error.h>

#include <array>
#include <string>

namespace gantry {
namespace {

struct Row {
  std::string_view name;
  uint32_t bits;
};

// Indexed by the number of the type.
constexpr std::array<Row, 29> kRows = {{
    {"undefined", 0},      {"float32", 32},     {"uint8", 8},          {"int8", 8},
    {"uint16", 16},        {"int16", 16},       {"int32", 32},         {"int64", 64},
    {"string", 0},         {"bool", 8},         {"float16", 16},       {"float64", 64},
    {"uint32", 32},        {"uint64", 64},      {"complex64", 64},     {"complex128", 128},
    {"bfloat16", 16},      {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},        {"int4", 4},           {"float4e2m1", 4},
    {"float8e8m0", 8},     {"uint2", 2},        {"int2", 2},           {"float6e2m3", 6},
    {"float6e3m2", 6},
}};
static_assert(kRows.size() == static_cast<size_t>(DType::kFloat6E3M2) + 1);

const Row& row_of(DType dtype) noexcept {
  const auto index = static_cast<size_t>(dtype);
  return kRows[index < kRows.size() ? index : 0];
}

[[noreturn]] void too_large() {
  throw Error(Code::kInvalidArgument,
              "a tensor must have less than 2^63 elements and bytes; this shape has more");
}

}  // namespace

std::string_view to_string(DType dtype) noexcept { return row_of(dtype).name; }

DType dtype_from_string(std::string_view name) noexcept {
  for (size_t i = 1; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return DType::kUndefined;
}

uint32_t bits_of(DType dtype) noexcept { return row_of(dtype).bits; }

uint64_t bytes_of(DType dtype, int64_t element_count) {
  const uint64_t bits = bits_of(dtype);
  const auto count = static_cast<uint64_t>(element_count);
  if (bits < 8) {  // 0 bits: strings own their bytes elsewhere
    return count / 8 * bits + (count % 8 * bits + 7) / 8;
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(element_count, static_cast<int64_t>(bits / 8), &bytes)) too_large();
  return static_cast<uint64_t>(bytes);
}

int64_t element_count(std::span<const int64_t> shape) {
  // With a zero extent the product is zero, but a shape as [2^62, 2^62, 0] is still refused, since
  // its strides would overflow.
  int64_t nonzero = 1;
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) {
      throw Error(Code::kInvalidArgument,
                  "extents of a shape must be 0 or more; found " + std::to_string(extent));
    }
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(nonzero, extent, &nonzero)) {
      too_large();
    }
  }
  return empty ? 0 : nonzero;
}

}  // namespace gantry
