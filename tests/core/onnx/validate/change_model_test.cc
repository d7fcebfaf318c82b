// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/change_model.h"

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include "base/value.h"
#include "expect_error.h"

namespace gantry {
namespace {

onnx::ModelProto parsed(const char* text) {
  onnx::ModelProto model;
  onnx::OnnxParser parser(text);
  EXPECT_TRUE(parser.Parse(model).IsOK());
  return model;
}

constexpr const char* kModel = R"(
  <ir_version: 10, opset_import: ["" : 21]>
  g (float[N, 3] x, seq(float[N, M]) s) => (float[N, K] y, float[M] z)
  <float[2] w = {1, 2}, int64[1] axes = {0}>
  {
    h = Relu(x)
    y = Identity(h)
    z = SequenceAt(s, axes)
  })";

TEST(ChangeModel, NamedDimensionsAreFixedWhereverTheyStand) {
  onnx::ModelProto model = parsed(kModel);
  EXPECT_TRUE(fix_dimensions(model, {{"N", 5}, {"M", 0}}).empty());
  const auto& inputs = model.graph().input();
  EXPECT_EQ(inputs[0].type().tensor_type().shape().dim(0).dim_value(), 5);
  const auto& item = inputs[1].type().sequence_type().elem_type().tensor_type().shape();
  EXPECT_EQ(item.dim(0).dim_value(), 5);
  EXPECT_TRUE(item.dim(1).has_dim_value());
  const auto& output = model.graph().output(0).type().tensor_type().shape();
  EXPECT_EQ(output.dim(0).dim_value(), 5);
  EXPECT_EQ(output.dim(1).dim_param(), "K");
}

TEST(ChangeModel, DenotationsStandForTheNameOfTheirDimension) {
  onnx::ModelProto model = parsed(kModel);
  auto* extent = model.mutable_graph()
                     ->mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  extent->mutable_dim(0)->set_denotation("DATA_BATCH");
  EXPECT_TRUE(fix_dimensions(model, {{"DATA_BATCH", 7}}).empty());
  EXPECT_EQ(model.graph().output(0).type().tensor_type().shape().dim(0).dim_value(), 7);
}

TEST(ChangeModel, DimensionsOfOutputsAloneAreNamedInASentence) {
  onnx::ModelProto model = parsed(kModel);
  const std::vector<std::string> sentences = fix_dimensions(model, {{"K", 3}});
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_NE(sentences[0].find("they are called \"M\", \"N\""), std::string::npos) << sentences[0];
  EXPECT_EQ(model.graph().output(0).type().tensor_type().shape().dim(1).dim_param(), "K");
}

TEST(ChangeModel, WhatHasNoRankKeepsNone) {
  onnx::ModelProto model = parsed(kModel);
  auto* item = model.mutable_graph()->mutable_input(1)->mutable_type()->mutable_sequence_type();
  item->mutable_elem_type()->mutable_tensor_type()->clear_shape();
  model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_TRUE(fix_dimensions(model, {{"N", 5}}).empty());
  EXPECT_FALSE(item->elem_type().tensor_type().has_shape());
  EXPECT_FALSE(model.graph().output(0).type().tensor_type().has_shape());
}

TEST(ChangeModel, AnEmptyNameIsNoDimension) {
  onnx::ModelProto model = parsed(kModel);
  auto* shape = model.mutable_graph()
                    ->mutable_input(0)
                    ->mutable_type()
                    ->mutable_tensor_type()
                    ->mutable_shape();
  shape->mutable_dim(0)->Clear();
  EXPECT_EQ(fix_dimensions(model, {{"", 5}}).size(), 1U);
  EXPECT_FALSE(shape->dim(0).has_dim_value());
}

TEST(ChangeModel, OutputsKeepTheirDeclaredTypes) {
  onnx::ModelProto model = parsed(kModel);
  choose_outputs(model, {"h", "y", "x"});
  ASSERT_EQ(model.graph().output_size(), 3);
  EXPECT_FALSE(model.graph().output(0).has_type());
  EXPECT_EQ(model.graph().output(1).type().tensor_type().shape().dim_size(), 2);
  EXPECT_EQ(model.graph().output(2).name(), "x");
  test::expect_error(Code::kInvalidArgument, {"output \"hh\"", "Did you mean \"h\"?"},
                     [&] { choose_outputs(model, {"hh"}); });
}

TEST(ChangeModel, LargeInitializersShareTheirMemory) {
  onnx::ModelProto model = parsed(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[512] x) => (float[512] y) { y = Add(x, w) })");
  onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(512);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  const Tensor value(DType::kFloat, {512});
  std::vector<Payload> payloads(1);
  replace_initializers(model, {{"w", value}}, payloads);
  ASSERT_EQ(payloads.size(), 2U);
  const ValueRef made = to_value(model.graph().initializer(0), payloads);
  EXPECT_EQ(made->view.data, value.handle()->view.data);
  EXPECT_FALSE(made->is_mapped);
  EXPECT_EQ(model.graph().initializer(0).data_location(), onnx::TensorProto::DEFAULT);
}

TEST(ChangeModel, SparseInitializersBecomeDense) {
  onnx::ModelProto model = parsed(kModel);
  onnx::SparseTensorProto* sparse = model.mutable_graph()->add_sparse_initializer();
  sparse->mutable_values()->set_name("few");
  sparse->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse->add_dims(4);
  std::vector<Payload> payloads;
  replace_initializers(model, {{"few", Tensor(DType::kFloat, {4})}}, payloads);
  EXPECT_EQ(model.graph().sparse_initializer_size(), 0);
  EXPECT_EQ(to_value(model.graph().initializer(2), payloads)->shape, std::vector<int64_t>{4});
}

}  // namespace
}  // namespace gantry
