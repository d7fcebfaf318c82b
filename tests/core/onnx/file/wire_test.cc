// SPDX-License-Identifier: Apache-2.0
#include "onnx/file/wire.h"

#include <cstring>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "base/mapped_file.h"
#include "expect_error.h"
#include "model_text.h"
#include "temp_folder.h"

namespace gantry {
namespace {

using ONNX_NAMESPACE::ModelProto;
using ONNX_NAMESPACE::TensorProto;

ModelProto reparse(const StrippedModel& stripped) {
  ModelProto model;
  EXPECT_TRUE(model.ParseFromString(stripped.bytes));
  return model;
}

ModelProto model_with(const TensorProto& tensor) {
  ModelProto model;
  *model.mutable_graph()->add_initializer() = tensor;
  return model;
}

TensorProto tensor_of(int data_type, size_t raw_bytes) {
  TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(data_type);
  tensor.set_raw_data(std::string(raw_bytes, 'r'));
  tensor.set_doc_string("payload:0");
  return tensor;
}

TEST(Wire, LeavesSmallModelsAsTheyAre) {
  ModelProto model = test::parse_model(R"(
    g (bool b, float[N] x) => (float[N] y) {
      y = If (b) <then_branch = t () => (float[N] s) { s = Relu(x) },
                  else_branch = e () => (float[N] u) { u = Abs <k = 3> (x) }>
    })");
  const std::string bytes = model.SerializeAsString();
  const StrippedModel stripped = strip_model(test::as_bytes(bytes), nullptr);
  EXPECT_EQ(reparse(stripped).SerializeAsString(), bytes);
  EXPECT_TRUE(stripped.payloads.empty());
}

TEST(Wire, TakesLargeTensorsOutWhereverTheyAre) {
  ModelProto model = test::parse_model(R"(
    g (bool b, float[N] x) => (float[N] y) {
      y = If (b) <then_branch = t () => (float[N] s) { s = Relu(x) },
                  else_branch = e () => (float[N] u) { u = Abs(x) }>
    })");
  const TensorProto large = tensor_of(TensorProto::FLOAT, 4096);
  *model.mutable_graph()->add_initializer() = large;
  auto* branch = model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  *branch->add_initializer() = large;
  *branch->mutable_node(0)->add_attribute()->mutable_t() = large;
  *model.add_functions()->add_node()->add_attribute()->add_tensors() = large;
  const std::string bytes = model.SerializeAsString();
  const StrippedModel stripped = strip_model(test::as_bytes(bytes), nullptr);
  ASSERT_EQ(stripped.payloads.size(), 4u);
  for (const Payload& payload : stripped.payloads) {
    EXPECT_EQ(payload.size_bytes, 4096u);
    EXPECT_GE(reinterpret_cast<const char*>(payload.data), bytes.data());
    EXPECT_LT(reinterpret_cast<const char*>(payload.data), bytes.data() + bytes.size());
    EXPECT_EQ(static_cast<char>(payload.data[4095]), 'r');
  }
  EXPECT_LT(stripped.bytes.size(), 1000u);
  const ModelProto reread = reparse(stripped);
  EXPECT_FALSE(reread.graph().initializer(0).has_raw_data());
  EXPECT_EQ(reread.graph().initializer(0).name(), "w");
  EXPECT_EQ(reread.functions(0).node(0).attribute(0).tensors(0).doc_string(), "payload:3");
}

TEST(Wire, TensorsCannotForgeAPayload) {
  const std::string bytes = model_with(tensor_of(TensorProto::FLOAT, 8)).SerializeAsString();
  const ModelProto model = reparse(strip_model(test::as_bytes(bytes), nullptr));
  EXPECT_TRUE(model.graph().initializer(0).doc_string().empty());
  EXPECT_EQ(model.graph().initializer(0).raw_data().size(), 8u);
}

TEST(Wire, KeepsIntegersThatShapeInferenceReads) {
  const auto payloads = [](int data_type, size_t size) {
    const std::string bytes = model_with(tensor_of(data_type, size)).SerializeAsString();
    return strip_model(test::as_bytes(bytes), nullptr).payloads.size();
  };
  EXPECT_EQ(payloads(TensorProto::INT64, 4096), 0u);
  EXPECT_EQ(payloads(TensorProto::INT64, 100000), 1u);
  EXPECT_EQ(payloads(TensorProto::FLOAT, 4096), 1u);
  EXPECT_EQ(payloads(TensorProto::FLOAT, 1024), 0u);
}

TEST(Wire, ViewsPackedFloatsOfTheRightTypeOnly) {
  TensorProto tensor;
  tensor.set_data_type(TensorProto::FLOAT);
  for (int i = 0; i < 1000; ++i) tensor.add_float_data(static_cast<float>(i));
  std::string bytes = model_with(tensor).SerializeAsString();
  const StrippedModel stripped = strip_model(test::as_bytes(bytes), nullptr);
  ASSERT_EQ(stripped.payloads.size(), 1u);
  float element = 0;
  std::memcpy(&element, stripped.payloads[0].data + 4 * 999, 4);
  EXPECT_EQ(element, 999.0f);

  tensor.set_data_type(TensorProto::INT8);
  bytes = model_with(tensor).SerializeAsString();
  EXPECT_TRUE(strip_model(test::as_bytes(bytes), nullptr).payloads.empty());
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.set_raw_data("x");
  bytes = model_with(tensor).SerializeAsString();
  EXPECT_TRUE(strip_model(test::as_bytes(bytes), nullptr).payloads.empty());
}

TEST(Wire, SaysAtWhichByteItFails) {
  const auto expect_damage = [](const std::string& bytes, const std::string& message) {
    test::expect_error(Code::kInvalidModel, {message},
                       [&] { strip_model(test::as_bytes(bytes), nullptr); });
  };
  expect_damage(std::string("\x3a\x05\x0a", 3),
                "at byte 0 field 7 should have 5 bytes; 1 are left");
  expect_damage(std::string("\x08\x01\x3a\x02\x0a\x05", 6),
                "at byte 4 field 1 should have 5 bytes");
  expect_damage(std::string("\x08\xff", 2), "at byte 1 a number was expected");
  expect_damage(std::string("\x3b\x00", 2), "at byte 0 a field was expected");
  expect_damage(std::string("\x00\x00", 2), "at byte 0 a field was expected");
  expect_damage(std::string("\x09\x01", 2), "field 1 should have 8 bytes");
}

TEST(Wire, RefusesMessagesNestedTooDeep) {
  std::string bytes = "x";
  // graph { node { attribute { g { ... } } } }
  const std::string tags[] = {"\x32", "\x2a", "\x0a"};
  for (int i = 0; i < 150; ++i) {
    std::string length;
    for (size_t size = bytes.size();; size >>= 7) {
      length += static_cast<char>((size & 0x7f) | (size >= 0x80 ? 0x80 : 0));
      if (size < 0x80) break;
    }
    bytes.insert(0, tags[i % 3] + length);
  }
  std::string model(1, '\x3a');
  for (size_t size = bytes.size();; size >>= 7) {
    model += static_cast<char>((size & 0x7f) | (size >= 0x80 ? 0x80 : 0));
    if (size < 0x80) break;
  }
  model += bytes;
  test::expect_error(Code::kInvalidModel, {"nested"},
                     [&] { strip_model(test::as_bytes(model), nullptr); });
}

// A file of holes: a graph of more than 4 GiB with one tensor in it takes no room on disk.
TEST(Wire, ReadsModelsBeyond4GiB) {
  constexpr uint64_t kElements = (uint64_t{5} << 30) / 4;
  TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(static_cast<int64_t>(kElements));
  const auto varint = [](uint64_t value) {
    std::string text;
    for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
    return text + static_cast<char>(value);
  };
  const std::string fields = tensor.SerializeAsString() + "\x4a" + varint(kElements * 4);
  const uint64_t tensor_bytes = fields.size() + kElements * 4;
  const std::string head = "\x2a" + varint(tensor_bytes);
  const std::string start = "\x3a" + varint(head.size() + tensor_bytes) + head + fields;

  const test::TempFolder folder;
  const std::string path = folder.write("large.onnx", start);
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(start.size() + kElements * 4)), 0);
  const auto file = MappedFile::open(path);
  const StrippedModel stripped = strip_model(file->bytes(), file);
  ASSERT_EQ(stripped.payloads.size(), 1u);
  EXPECT_EQ(stripped.payloads[0].size_bytes, kElements * 4);
  EXPECT_EQ(reparse(stripped).graph().initializer(0).dims(0), static_cast<int64_t>(kElements));
}

}  // namespace
}  // namespace gantry
