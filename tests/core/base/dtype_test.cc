// SPDX-License-Identifier: Apache-2.0
#include <gantry/dtype.h>

#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "expect_error.h"

namespace gantry {
namespace {

TEST(DType, NamesAreUniqueAndReadBack) {
  for (uint32_t number = 1; number <= 28; ++number) {
    const auto dtype = static_cast<DType>(number);
    EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype) << number;
  }
  EXPECT_EQ(to_string(static_cast<DType>(29)), "undefined");
  EXPECT_EQ(dtype_from_string("undefined"), DType::kUndefined);
  EXPECT_EQ(dtype_from_string("float"), DType::kUndefined);
}

TEST(DType, BytesRoundPackedTypesUp) {
  EXPECT_EQ(bytes_of(DType::kFloat, 3), 12u);
  EXPECT_EQ(bytes_of(DType::kComplex128, 2), 32u);
  EXPECT_EQ(bytes_of(DType::kInt4, 3), 2u);
  EXPECT_EQ(bytes_of(DType::kUint2, 4), 1u);
  EXPECT_EQ(bytes_of(DType::kUint2, 5), 2u);
  EXPECT_EQ(bytes_of(DType::kFloat6E2M3, 3), 3u);
  EXPECT_EQ(bytes_of(DType::kFloat6E3M2, 4), 3u);
  EXPECT_EQ(bytes_of(DType::kFloat6E3M2, 5), 4u);
  EXPECT_EQ(bytes_of(DType::kString, 7), 0u);
  EXPECT_EQ(bytes_of(DType::kFloat, 0), 0u);
}

TEST(DType, PackedElementsLieSideBySide) {
  // 6 bits: x0 | x1 << 6 | x2 << 12 | x3 << 18, and so on.
  std::vector<uint8_t> bytes(4);
  const std::vector<uint8_t> codes = {0x3F, 0x01, 0x2A, 0x15, 0x21};
  for (size_t i = 0; i < codes.size(); ++i)
    fill_packed(bytes.data(), i, 6, static_cast<uint8_t>(codes[i] | 0xC0));
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0x7F, 0xA0, 0x56, 0x21}));
  for (size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(load_packed(bytes.data(), i, 6), codes[i]);
  const std::vector<uint8_t> nibbles = {0x21, 0x43};
  EXPECT_EQ(load_packed(nibbles.data(), 1, 4), 2);
  EXPECT_EQ(load_packed(nibbles.data(), 2, 4), 3);
  EXPECT_EQ(load_packed(nibbles.data(), 7, 2), 1);
}

TEST(DType, SizesBeyond63BitsAreRefused) {
  test::expect_error(Code::kInvalidArgument, {"2^63"},
                     [] { bytes_of(DType::kDouble, std::numeric_limits<int64_t>::max() / 2); });
  const std::vector<int64_t> huge = {int64_t{1} << 62, int64_t{1} << 62};
  test::expect_error(Code::kInvalidArgument, {"2^63"}, [&] { element_count(huge); });
  const std::vector<int64_t> huge_and_empty = {int64_t{1} << 62, int64_t{1} << 62, 0};
  test::expect_error(Code::kInvalidArgument, {"2^63"}, [&] { element_count(huge_and_empty); });
}

TEST(DType, ElementCount) {
  EXPECT_EQ(element_count(std::vector<int64_t>{}), 1);
  EXPECT_EQ(element_count(std::vector<int64_t>{2, 0, 3}), 0);
  EXPECT_EQ(element_count(std::vector<int64_t>{2, 5, 3}), 30);
  test::expect_error(Code::kInvalidArgument, {"found -2"}, [] {
    element_count(std::vector<int64_t>{3, -2});
  });
}

}  // namespace
}  // namespace gantry
