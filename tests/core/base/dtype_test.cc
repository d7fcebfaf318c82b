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
  for (uint32_t number = 1; number <= 26; ++number) {
    const auto dtype = static_cast<DType>(number);
    EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype) << number;
  }
  EXPECT_EQ(to_string(static_cast<DType>(27)), "undefined");
  EXPECT_EQ(dtype_from_string("undefined"), DType::kUndefined);
  EXPECT_EQ(dtype_from_string("float"), DType::kUndefined);
}

TEST(DType, BytesRoundPackedTypesUp) {
  EXPECT_EQ(bytes_of(DType::kFloat, 3), 12u);
  EXPECT_EQ(bytes_of(DType::kComplex128, 2), 32u);
  EXPECT_EQ(bytes_of(DType::kInt4, 3), 2u);
  EXPECT_EQ(bytes_of(DType::kUint2, 4), 1u);
  EXPECT_EQ(bytes_of(DType::kUint2, 5), 2u);
  EXPECT_EQ(bytes_of(DType::kString, 7), 0u);
  EXPECT_EQ(bytes_of(DType::kFloat, 0), 0u);
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
