// SPDX-License-Identifier: Apache-2.0
#include <gantry/error.h>
#include <gantry/tensor.h>

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/value.h"
#include "expect_error.h"

namespace gantry {
namespace {

const Tensor kKeys({2}, std::vector<int64_t>{3, 5});

std::shared_ptr<gantry_value> sequence_of(const Tensor& keys, const Tensor& values) {
  auto sequence = std::make_shared<gantry_value>();
  sequence->kind = GANTRY_KIND_SEQUENCE;
  sequence->dtype = values.dtype();
  sequence->rows = std::make_shared<MapRows>(keys.handle(), values.handle());
  return sequence;
}

TEST(MapRows, AreMapsThatViewTheTable) {
  Value map;
  const void* second = nullptr;
  {
    const Tensor values({2, 2}, std::vector<float>{1, 2, 3, 4});
    second = values.elements<float>().data() + 2;
    const Value sequence(sequence_of(kKeys, values));
    ASSERT_EQ(sequence.size(), 2U);
    map = sequence.at(1);
    EXPECT_EQ(map.handle(), sequence.at(1).handle());
    test::expect_error(Code::kInvalidArgument, {"element 2", "2 elements"},
                       [&] { (void)sequence.at(2); });
  }
  ASSERT_EQ(map.kind(), Kind::kMap);
  EXPECT_EQ(map.at(0).handle(), kKeys.handle());
  const Tensor row = map.at(1).tensor();  // keeps the table's memory
  EXPECT_EQ(row.shape(), std::vector<int64_t>{2});
  EXPECT_EQ(row.data(), second);
  EXPECT_EQ(row.elements<float>()[1], 4.0F);
}

TEST(MapRows, AreSeenAsATable) {
  const Tensor values({3, 2}, std::vector<double>{1, 2, 3, 4, 5, 6});
  const Value sequence(sequence_of(kKeys, values));
  const std::optional<MapTable> table = sequence.map_table();
  ASSERT_TRUE(table);
  EXPECT_EQ(table->keys.handle(), kKeys.handle());
  EXPECT_EQ(table->values.handle(), values.handle());
  EXPECT_EQ(share(*sequence.handle()), sequence.handle());
  EXPECT_FALSE(values.map_table());
  EXPECT_FALSE(Value().map_table());
  EXPECT_FALSE(Value::sequence(DType::kFloat, {Value::map(kKeys, kKeys)}).map_table());
}

TEST(MapRows, AreMadeOnceWhoeverAsks) {
  const Tensor values({100, 2}, std::vector<float>(200, 1.0F));
  const MapRows rows(kKeys.handle(), values.handle());
  std::array<const gantry_value*, 4> seen = {};
  std::vector<std::thread> threads;
  threads.reserve(seen.size());
  for (const gantry_value*& item : seen)
    threads.emplace_back([&rows, &item] { item = rows.maps()[99].get(); });
  for (std::thread& thread : threads) thread.join();
  ASSERT_NE(seen[0], nullptr);
  for (const gantry_value* item : seen) EXPECT_EQ(item, seen[0]);
}

TEST(MapRows, NeedATableThatFitsTheKeys) {
  for (const Tensor& values :
       {Tensor(DType::kFloat, {2}), Tensor(DType::kFloat, {4, 3}), Tensor(DType::kUint4, {4, 2}),
        Tensor(DType::kString, {4, 2}), Tensor(DType::kFloat, {1, 4, 2})}) {
    test::expect_error(Code::kInvalidArgument, {"int64[2]", describe(*values.handle())},
                       [&] { MapRows(kKeys.handle(), values.handle()); });
  }
}

}  // namespace
}  // namespace gantry
