// SPDX-License-Identifier: Apache-2.0
#include "base/elements.h"

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace gantry {
namespace {

constexpr int64_t kCount = 40;

// What an element is, by its number: its packed code, its bytes as one, or its text.
uint64_t element_of(const gantry_value& value, int64_t index) {
  const uint32_t bits = bits_of(value.dtype);
  if (value.dtype == DType::kString) return std::stoull(value.strings[static_cast<size_t>(index)]);
  if (bits < 8) return load_packed(value.view.data, static_cast<size_t>(index), bits);
  const auto* bytes = static_cast<const uint8_t*>(value.view.data) + index * (bits / 8);
  return bytes[0] + 256 * uint64_t{bytes[bits / 8 - 1]};
}

// 40 elements that differ as far as their type lets them.
ValueRef counted(DType dtype, uint64_t first) {
  ValueRef value = make_tensor(dtype, {kCount});
  const uint32_t bits = bits_of(dtype);
  if (dtype != DType::kString) std::memset(value->view.data, 0, value->view.size_bytes);
  for (int64_t i = 0; i < kCount; ++i) {
    const uint64_t code = first + 7 * static_cast<uint64_t>(i);
    if (dtype == DType::kString) {
      value->strings[static_cast<size_t>(i)] = std::to_string(code);
    } else if (bits < 8) {
      fill_packed(value->view.data, static_cast<size_t>(i), bits, static_cast<uint8_t>(code));
    } else {
      std::memset(static_cast<uint8_t*>(value->view.data) + i * (bits / 8),
                  static_cast<int>(code & 0xff), bits / 8);
    }
  }
  return value;
}

class Elements : public testing::TestWithParam<DType> {};

TEST_P(Elements, AreCopiedAndTheirNeighboursStay) {
  const struct {
    StridedSegments source, target;
    int64_t count, length;
  } cases[] = {
      {{0, 0}, {0, 0}, 1, 40}, {{8, 0}, {16, 0}, 1, 11}, {{3, 0}, {0, 0}, 1, 9},
      {{1, 7}, {2, 9}, 4, 5},  {{0, 8}, {8, 8}, 3, 8},   {{5, 1}, {39, -3}, 6, 1},
      {{0, 3}, {0, 3}, 0, 3},  {{40, 0}, {40, 0}, 5, 0},
  };
  for (const auto& [source, target, count, length] : cases) {
    const ValueRef from = counted(GetParam(), 1);
    const ValueRef to = counted(GetParam(), 2);
    std::vector<uint64_t> expected;
    for (int64_t i = 0; i < kCount; ++i) expected.push_back(element_of(*to, i));
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < length; ++k) {
        expected[static_cast<size_t>(target.first + i * target.pitch + k)] =
            element_of(*from, source.first + i * source.pitch + k);
      }
    }
    copy_elements(*from, source, *to, target, count, length);
    for (int64_t i = 0; i < kCount; ++i)
      EXPECT_EQ(element_of(*to, i), expected[static_cast<size_t>(i)]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryWidth, Elements,
                         testing::Values(DType::kUint2, DType::kInt4, DType::kFloat6E3M2,
                                         DType::kBool, DType::kBfloat16, DType::kFloat,
                                         DType::kComplex128, DType::kString));

}  // namespace
}  // namespace gantry
