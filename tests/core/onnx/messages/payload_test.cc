// SPDX-License-Identifier: Apache-2.0
#include "onnx/messages/payload.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "expect_error.h"

namespace gantry {
namespace {

using ONNX_NAMESPACE::SparseTensorProto;
using ONNX_NAMESPACE::TensorProto;

TensorProto tensor_of(int data_type, const std::vector<int64_t>& dims) {
  TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(data_type);
  for (const int64_t extent : dims) tensor.add_dims(extent);
  return tensor;
}

TensorProto with_int32(int data_type, const std::vector<int64_t>& dims,
                       const std::vector<int32_t>& data) {
  TensorProto tensor = tensor_of(data_type, dims);
  for (const int32_t item : data) tensor.add_int32_data(item);
  return tensor;
}

template <class T>
std::vector<T> decode(const TensorProto& tensor) {
  const ValueRef value = to_value(tensor, {});
  std::vector<T> elements(value->view.size_bytes / sizeof(T));
  std::memcpy(elements.data(), value->view.data, value->view.size_bytes);
  return elements;
}

TEST(Payload, DecodesInt32Data) {
  EXPECT_EQ(decode<int32_t>(with_int32(TensorProto::INT32, {2}, {1, -2})),
            (std::vector<int32_t>{1, -2}));
  EXPECT_EQ(decode<int8_t>(with_int32(TensorProto::INT8, {2}, {1, -2})),
            (std::vector<int8_t>{1, -2}));
  EXPECT_EQ(decode<uint8_t>(with_int32(TensorProto::UINT8, {1}, {255})),
            (std::vector<uint8_t>{255}));
  EXPECT_EQ(decode<int16_t>(with_int32(TensorProto::INT16, {1}, {-300})),
            (std::vector<int16_t>{-300}));
  EXPECT_EQ(decode<uint16_t>(with_int32(TensorProto::UINT16, {1}, {65535})),
            (std::vector<uint16_t>{65535}));
  EXPECT_EQ(decode<uint8_t>(with_int32(TensorProto::BOOL, {2}, {7, 0})),
            (std::vector<uint8_t>{1, 0}));
  for (const int type : {TensorProto::FLOAT16, TensorProto::BFLOAT16}) {
    EXPECT_EQ(decode<uint16_t>(with_int32(type, {1}, {0xbc00})), (std::vector<uint16_t>{0xbc00}));
  }
  for (const int type :
       {TensorProto::FLOAT8E4M3FN, TensorProto::FLOAT8E4M3FNUZ, TensorProto::FLOAT8E5M2,
        TensorProto::FLOAT8E5M2FNUZ, TensorProto::FLOAT8E8M0}) {
    EXPECT_EQ(decode<uint8_t>(with_int32(type, {1}, {0x81})), (std::vector<uint8_t>{0x81}));
  }
}

TEST(Payload, DecodesPackedTypesInBothForms) {
  for (const int type : {TensorProto::INT4, TensorProto::UINT4, TensorProto::FLOAT4E2M1}) {
    EXPECT_EQ(decode<uint8_t>(with_int32(type, {3}, {0x21, 0x03})),
              (std::vector<uint8_t>{0x21, 0x03}));
    EXPECT_EQ(decode<uint8_t>(with_int32(type, {9}, {0x07654321, 0x9})).size(), 0u + 5)
        << "one number for four bytes";
  }
  EXPECT_EQ(decode<uint8_t>(with_int32(TensorProto::INT4, {6}, {0x654321})),
            (std::vector<uint8_t>{0x21, 0x43, 0x65}));
  EXPECT_EQ(decode<uint8_t>(with_int32(TensorProto::UINT2, {8}, {0xe4, 0x1b})),
            (std::vector<uint8_t>{0xe4, 0x1b}));
  TensorProto raw = tensor_of(TensorProto::INT4, {3});
  raw.set_raw_data(std::string("\x21\x03"));
  EXPECT_EQ(decode<uint8_t>(raw), (std::vector<uint8_t>{0x21, 0x03}));
}

TEST(Payload, PacksTheNumbersOf6BitTypes) {
  for (const int type : {TensorProto::FLOAT6E2M3, TensorProto::FLOAT6E3M2}) {
    EXPECT_EQ(decode<uint8_t>(with_int32(type, {5}, {0x3F, 0x01, 0x2A, 0x15, 0x21})),
              (std::vector<uint8_t>{0x7F, 0xA0, 0x56, 0x21}));
    EXPECT_EQ(to_value(with_int32(type, {0}, {}), {})->view.size_bytes, 0u);
    test::expect_error(Code::kInvalidModel, {"number 64", "element 1", "0 to 63"}, [&] {
      to_value(with_int32(type, {2}, {63, 64}), {});
    });
    test::expect_error(Code::kInvalidModel, {"needs 4 elements", "found 3"}, [&] {
      to_value(with_int32(type, {4}, {1, 2, 3}), {});
    });
    TensorProto raw = tensor_of(type, {5});
    raw.set_raw_data(std::string("\x7F\xA0\x56\x21"));
    EXPECT_EQ(decode<uint8_t>(raw), (std::vector<uint8_t>{0x7F, 0xA0, 0x56, 0x21}));
  }
}

TEST(Payload, DecodesTheOtherFields) {
  TensorProto floats = tensor_of(TensorProto::FLOAT, {2});
  floats.add_float_data(1.5f);
  floats.add_float_data(2.5f);
  EXPECT_EQ(decode<float>(floats), (std::vector<float>{1.5f, 2.5f}));
  floats = tensor_of(TensorProto::COMPLEX64, {1});
  floats.add_float_data(1.5f);
  floats.add_float_data(2.5f);
  EXPECT_EQ(decode<float>(floats), (std::vector<float>{1.5f, 2.5f}));
  TensorProto doubles = tensor_of(TensorProto::DOUBLE, {});
  doubles.add_double_data(3);
  EXPECT_EQ(decode<double>(doubles), (std::vector<double>{3}));
  TensorProto longs = tensor_of(TensorProto::INT64, {1});
  longs.add_int64_data(-4);
  EXPECT_EQ(decode<int64_t>(longs), (std::vector<int64_t>{-4}));
  TensorProto unsigneds = tensor_of(TensorProto::UINT32, {1});
  unsigneds.add_uint64_data(5);
  EXPECT_EQ(decode<uint32_t>(unsigneds), (std::vector<uint32_t>{5}));
  TensorProto strings = tensor_of(TensorProto::STRING, {2});
  strings.add_string_data("a");
  strings.add_string_data("b");
  EXPECT_EQ(to_value(strings, {})->strings, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(to_value(tensor_of(TensorProto::FLOAT, {0, 3}), {})->view.size_bytes, 0u);
}

TEST(Payload, ViewsPlaceholders) {
  const std::vector<float> memory(400, 2.0f);
  TensorProto tensor = tensor_of(TensorProto::FLOAT, {400});
  tensor.set_doc_string(placeholder_text(1));
  const std::vector<Payload> payloads = {
      {}, {reinterpret_cast<const std::byte*>(memory.data()), 1600, nullptr}};
  EXPECT_EQ(to_value(tensor, payloads)->view.data, memory.data());
  tensor.set_dims(0, 401);
  test::expect_error(Code::kInvalidModel, {"\"w\"", "float32[401]", "1604", "1600"},
                     [&] { to_value(tensor, payloads); });
  tensor.set_doc_string(placeholder_text(2));
  test::expect_error(Code::kInternal, {"\"w\""}, [&] { to_value(tensor, payloads); });
}

TEST(Payload, RefusesWhatDoesNotMatchItsShape) {
  const auto expect_refusal = [](const TensorProto& tensor, const std::string& message) {
    test::expect_error(Code::kInvalidModel, {"\"w\"", message}, [&] { to_value(tensor, {}); });
  };
  expect_refusal(with_int32(TensorProto::INT32, {3}, {1, 2}), "needs 3 elements; found 2");
  expect_refusal(with_int32(TensorProto::INT4, {9}, {1, 2, 3}), "needs 5 numbers; found 3");
  expect_refusal(tensor_of(TensorProto::STRING, {int64_t{1} << 40}), "strings; found 0");
  expect_refusal(tensor_of(TensorProto::FLOAT, {int64_t{1} << 40}), "fewer elements");
  expect_refusal(tensor_of(TensorProto::FLOAT, {int64_t{1} << 62, 4}), "wrong shape");
  expect_refusal(tensor_of(TensorProto::FLOAT, {-3}), "found -3");
  expect_refusal(tensor_of(99, {1}), "element type number 99");
  TensorProto raw = tensor_of(TensorProto::FLOAT, {2});
  raw.set_raw_data("12345678901234");
  expect_refusal(raw, "needs 8 bytes; found 14");
  raw = tensor_of(TensorProto::STRING, {1});
  raw.set_raw_data("x");
  expect_refusal(raw, "string_data");
}

TEST(Payload, MakesSparseTensorsDense) {
  SparseTensorProto sparse;
  sparse.add_dims(2);
  sparse.add_dims(3);
  *sparse.mutable_values() = tensor_of(TensorProto::FLOAT, {2});
  sparse.mutable_values()->add_float_data(5);
  sparse.mutable_values()->add_float_data(6);
  *sparse.mutable_indices() = tensor_of(TensorProto::INT64, {2});
  sparse.mutable_indices()->add_int64_data(1);
  sparse.mutable_indices()->add_int64_data(5);
  const auto elements = [](const ValueRef& value) {
    const auto* data = static_cast<const float*>(value->view.data);
    return std::vector<float>(data, data + 6);
  };
  EXPECT_EQ(elements(to_value(sparse, {})), (std::vector<float>{0, 5, 0, 0, 0, 6}));

  TensorProto coordinates = tensor_of(TensorProto::INT64, {2, 2});
  for (const int64_t index : {0, 1, 1, 2}) coordinates.add_int64_data(index);
  *sparse.mutable_indices() = coordinates;
  EXPECT_EQ(elements(to_value(sparse, {})), (std::vector<float>{0, 5, 0, 0, 0, 6}));

  sparse.mutable_indices()->set_int64_data(3, 3);
  test::expect_error(Code::kInvalidModel, {"outside its shape"}, [&] { to_value(sparse, {}); });
  sparse.set_dims(0, int64_t{1} << 40);
  test::expect_error(Code::kUnsupported, {"2 GiB"}, [&] { to_value(sparse, {}); });
}

}  // namespace
}  // namespace gantry
