// SPDX-License-Identifier: Apache-2.0
#include <gantry/tensor.h>

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "expect_error.h"

namespace gantry {
namespace {

TEST(Tensor, NewOnesAreZero) {
  const Tensor tensor(DType::kInt32, {4});
  const auto elements = tensor.elements<int32_t>();
  EXPECT_TRUE(std::all_of(elements.begin(), elements.end(), [](int32_t e) { return e == 0; }));
  EXPECT_EQ(tensor.element_count(), 4);
  EXPECT_EQ(tensor.size_bytes(), 16u);
}

TEST(Tensor, CopiesElementsAndChecksTheirCount) {
  const Tensor tensor({2, 2}, std::vector<float>{1, 2, 3, 4});
  EXPECT_EQ(tensor.elements<float>()[3], 4.0f);
  test::expect_error(Code::kInvalidArgument, {"float32[3]", "12", "8"}, [] {
    Tensor({3}, std::vector<float>{1, 2});
  });
}

TEST(Tensor, ElementsOfAnotherTypeAreRefused) {
  const Tensor tensor({1}, std::vector<float>{1});
  test::expect_error(Code::kInvalidArgument, {"int64", "float32"},
                     [&] { (void)tensor.elements<int64_t>(); });
  test::expect_error(Code::kInvalidArgument, {"string", "float32"},
                     [&] { (void)tensor.strings(); });
}

TEST(Tensor, Strings) {
  const Tensor tensor({2}, std::vector<std::string>{"a", "b"});
  EXPECT_EQ(tensor.dtype(), DType::kString);
  EXPECT_EQ(tensor.strings()[1], "b");
  EXPECT_EQ(tensor.data(), nullptr);
  test::expect_error(Code::kInvalidArgument, {"string[3]", "found 1"},
                     [] { Tensor({3}, std::vector<std::string>{"a"}); });
}

TEST(Tensor, BorrowedMemoryIsUsedInPlace) {
  std::vector<int64_t> memory = {1, 2};
  Tensor tensor = Tensor::borrow(DType::kInt64, {2}, memory.data(), 16);
  tensor.elements<int64_t>()[0] = 9;
  EXPECT_EQ(memory[0], 9);
  test::expect_error(Code::kInvalidArgument, {"int64[3]"},
                     [&] { Tensor::borrow(DType::kInt64, {3}, memory.data(), 16); });
  test::expect_error(Code::kInvalidArgument, {"int64[2]", "null"},
                     [] { Tensor::borrow(DType::kInt64, {2}, nullptr, 16); });
  EXPECT_EQ(Tensor::borrow(DType::kInt64, {0}, nullptr, 0).element_count(), 0);
}

TEST(Tensor, NothingIsNothing) {
  const Tensor tensor;
  EXPECT_EQ(tensor.kind(), Kind::kUnknown);
  EXPECT_EQ(tensor.dtype(), DType::kUndefined);
  EXPECT_TRUE(tensor.shape().empty());
  EXPECT_EQ(tensor.element_count(), 0);
  test::expect_error(Code::kInvalidArgument, {"nothing"}, [&] { (void)tensor.tensor(); });
}

TEST(Value, SequencesHoldTensorsOfOneType) {
  const Tensor item({1}, std::vector<float>{1});
  const Value list = Value::sequence(DType::kFloat, {item, item});
  EXPECT_EQ(list.kind(), Kind::kSequence);
  EXPECT_EQ(list.size(), 2u);
  EXPECT_EQ(list.at(1).tensor().elements<float>()[0], 1.0f);
  test::expect_error(Code::kInvalidArgument, {"element 2", "2 elements"},
                     [&] { (void)list.at(2); });
  test::expect_error(Code::kInvalidArgument, {"int64", "float32[1]"},
                     [&] { Value::sequence(DType::kInt64, {item}); });
  test::expect_error(Code::kInvalidArgument, {"holds nothing"},
                     [&] { Value::sequence(DType::kFloat, {Value()}); });
}

TEST(Value, OptionalsAndMaps) {
  EXPECT_EQ(Value::optional(DType::kFloat, Value()).size(), 0u);
  EXPECT_EQ(Value::optional(DType::kFloat, Tensor(DType::kFloat, {1})).size(), 1u);
  const Tensor keys({2}, std::vector<std::string>{"a", "b"});
  const Value map = Value::map(keys, Tensor(DType::kFloat, {2}));
  EXPECT_EQ(map.kind(), Kind::kMap);
  EXPECT_EQ(map.at(0).tensor().strings()[0], "a");
  test::expect_error(Code::kInvalidArgument, {"one shape", "string[2]", "float32[3]"},
                     [&] { Value::map(keys, Tensor(DType::kFloat, {3})); });
  test::expect_error(Code::kInvalidArgument, {"float32"},
                     [] { Value::map(Tensor(DType::kFloat, {1}), Tensor(DType::kFloat, {1})); });
}

}  // namespace
}  // namespace gantry
