// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/value_message.h"

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "support/expect_error.h"

namespace gantry {
namespace {

const PlaceData kInMessage = [](const gantry_tensor&) { return DataPlace{}; };
const FindData kNowhere = [](const DataPlace&, uint64_t) -> std::shared_ptr<const void> {
  throw Error(Code::kInternal, "there is no such place");
};

ValueRef pass(const gantry_value& value) {
  MessageWriter writer;
  write_value(writer, value, kInMessage);
  MessageReader reader(writer.bytes());
  ValueRef copy = read_value(reader, kNowhere);
  EXPECT_TRUE(reader.is_at_end());
  return copy;
}

ValueRef tensor(DType dtype, std::vector<int64_t> shape, int fill) {
  ValueRef value = make_tensor(dtype, std::move(shape));
  std::memset(value->view.data, fill, value->view.size_bytes);
  return value;
}

ValueRef container(gantry_kind kind, std::vector<ValueRef> items) {
  auto value = std::make_shared<gantry_value>();
  value->kind = kind;
  value->dtype = DType::kFloat;
  value->items = std::move(items);
  return value;
}

TEST(ValueMessage, BringsTensorsAcross) {
  for (const DType dtype : {DType::kFloat, DType::kInt4, DType::kBool, DType::kComplex128}) {
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {3}, {0, 2}, {2, 1, 5}}) {
      const ValueRef value = tensor(dtype, shape, dtype == DType::kBool ? 1 : 0x11);
      const ValueRef copy = pass(*value);
      EXPECT_EQ(describe(*copy), describe(*value));
      EXPECT_EQ(std::memcmp(copy->view.data, value->view.data, value->view.size_bytes), 0);
    }
  }
}

TEST(ValueMessage, MakesBoolsOfAnotherProcess0Or1) {
  const ValueRef copy = pass(*tensor(DType::kBool, {3}, 0x11));
  const auto* bools = static_cast<const uint8_t*>(copy->view.data);
  EXPECT_EQ(std::vector<uint8_t>(bools, bools + 3), (std::vector<uint8_t>{1, 1, 1}));
}

TEST(ValueMessage, BringsStringsAndContainersAcross) {
  const ValueRef strings = make_tensor(DType::kString, {2, 1});
  strings->strings = {"", "text"};
  EXPECT_EQ(pass(*strings)->strings, strings->strings);
  const ValueRef map = container(GANTRY_KIND_MAP, {strings, tensor(DType::kFloat, {2}, 1)});
  const ValueRef sequence = container(GANTRY_KIND_SEQUENCE, {map, map});
  const ValueRef copy = pass(*container(GANTRY_KIND_OPTIONAL, {sequence}));
  EXPECT_EQ(copy->kind, GANTRY_KIND_OPTIONAL);
  ASSERT_EQ(copy->items.size(), 1U);
  ASSERT_EQ(copy->items[0]->items.size(), 2U);
  EXPECT_EQ(describe(*copy->items[0]->items[1]), describe(*map));
  EXPECT_EQ(pass(*container(GANTRY_KIND_OPTIONAL, {}))->items.size(), 0U);
}

// A tensor as another process may put it.
MessageWriter claimed(uint32_t kind, uint32_t dtype, const std::vector<int64_t>& shape,
                      uint64_t where, uint64_t offset) {
  MessageWriter writer;
  writer.put(kind);
  writer.put(dtype);
  writer.list(shape);
  writer.put(where);
  writer.put(offset);
  return writer;
}

TEST(ValueMessage, RefusesWhatIsNoValue) {
  constexpr uint32_t kFloat = GANTRY_FLOAT;
  constexpr int64_t kHuge = int64_t{1} << 62;
  const std::vector<MessageWriter> wrong = {
      claimed(0, kFloat, {2}, 1, 0),  // kind
      claimed(9, kFloat, {2}, 1, 0),
      claimed(GANTRY_KIND_TENSOR, 0, {2}, 1, 0),  // element type
      claimed(GANTRY_KIND_TENSOR, 77, {2}, 1, 0),
      claimed(GANTRY_KIND_TENSOR, kFloat, {-1}, 1, 0),  // extents
      claimed(GANTRY_KIND_TENSOR, kFloat, {kHuge, kHuge}, 1, 0),
      claimed(GANTRY_KIND_TENSOR, kFloat, std::vector<int64_t>(65, 1), 1, 0),
      claimed(GANTRY_KIND_TENSOR, kFloat, {kHuge}, 0, 0),    // not in the message
      claimed(GANTRY_KIND_TENSOR, kFloat, {2}, 1, 1 << 20),  // not in the memory
      claimed(GANTRY_KIND_TENSOR, GANTRY_STRING, {kHuge}, 0, 0),
  };
  for (size_t i = 0; i < wrong.size(); ++i) {
    SCOPED_TRACE(i);
    MessageReader reader(wrong[i].bytes());
    EXPECT_THROW(read_value(reader, kNowhere), Error);
  }
  ValueRef deep = tensor(DType::kFloat, {1}, 0);
  for (int i = 0; i < 40; ++i) deep = container(GANTRY_KIND_SEQUENCE, {deep});
  test::expect_error(Code::kInternal, {"nested"}, [&] { pass(*deep); });
  const ValueRef three = container(GANTRY_KIND_MAP, {deep, deep, deep});
  test::expect_error(Code::kInternal, {"3 items"}, [&] { pass(*three); });
}

}  // namespace
}  // namespace gantry
