// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/declared_schemas.h"

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include "expect_error.h"
#include "onnx/model.h"
#include "onnx/schema/schema_store.h"

namespace gantry {
namespace {

std::unique_ptr<Graph> graph_with(const std::vector<DeclaredOperator>& operators) {
  onnx::ModelProto model;
  onnx::OnnxParser parser(R"(
    <ir_version: 10, opset_import: ["" : 21, "com.example" : 1]>
    g (string[N] text, float[N, 3] x) => (y, z)
    {
      tokens, scores = com.example.Tokenize(text, x)
      h = com.example.Smooth(x)
      y = Add(h, scores)
      z = Cast<to = 1>(tokens)
    })");
  EXPECT_TRUE(parser.Parse(model).IsOK());
  for (auto& output : *model.mutable_graph()->mutable_output()) output.clear_type();
  const std::string bytes = model.SerializeAsString();
  const OnnxModel loaded(ModelSource(std::as_bytes(std::span(bytes)), {}), {}, FileAccess::kMap, {},
                         operators);
  return loaded.to_graph();
}

const std::vector<DeclaredOperator> kOperators = {
    {"com.example",
     "Tokenize",
     {},
     {{.dtype = DType::kInt64, .shape = {{{.input = 0, .axis = 0}, {}}}},
      {.dtype = DType::kFloat, .shape = {{{.input = 1, .axis = 0}, {.value = 3}}}}}},
    {"com.example", "Smooth", {}, {{.like = 0}}},
    {"com.example", "Smooth", {}, {{.dtype = DType::kBool}}},
};

TEST(DeclaredSchemas, WhatFollowsAnOperatorIsInferred) {
  const std::unique_ptr<Graph> graph = graph_with(kOperators);
  const auto& y = graph->outputs()[0]->type;
  EXPECT_EQ(y.dtype, DType::kFloat);
  EXPECT_EQ(y.shape, (std::vector<int64_t>{-1, 3}));
  EXPECT_EQ(y.symbols, (std::vector<std::string>{"N", ""}));
  EXPECT_EQ(graph->outputs()[1]->type.shape, (std::vector<int64_t>{-1, -1}));
}

TEST(DeclaredSchemas, AnAxisThatAnInputDoesNotHaveIsUnknown) {
  std::vector<DeclaredOperator> operators = kOperators;
  operators[0].outputs[0].shape = {{{.input = 7, .axis = 0}, {.input = 0, .axis = 9}}};
  EXPECT_EQ(graph_with(operators)->outputs()[1]->type.shape, (std::vector<int64_t>{-1, -1}));
  operators[0].outputs = {{.dtype = DType::kFloat, .shape = {{{}, {.value = 3}}}}};
  EXPECT_EQ(graph_with(operators)->outputs()[0]->type.dtype, DType::kFloat);  // as the first one
}

TEST(DeclaredSchemas, OfSeveralTheFirstCountsThatTakesTheInputs) {
  std::vector<DeclaredOperator> operators = kOperators;
  operators[1].inputs = {DType::kInt64};
  operators[2].inputs = {DType::kUndefined};
  operators[2].outputs = {{.dtype = DType::kFloat, .shape = {{{.value = 5}, {}}}}};
  EXPECT_EQ(graph_with(operators)->nodes()[1]->outputs[0]->type.shape,
            (std::vector<int64_t>{5, -1}));
  operators[0].inputs = {DType::kString, DType::kInt64};  // nobody takes the inputs
  operators[2].inputs = {DType::kInt64};
  EXPECT_EQ(graph_with(operators)->outputs()[0]->type.dtype, DType::kUndefined);
}

TEST(DeclaredSchemas, WhatNobodyTellsIsNoFaultOfTheModel) {
  std::vector<DeclaredOperator> operators = kOperators;
  operators[1].outputs = {{}};  // of any type, and the Add behind it wants one
  EXPECT_EQ(graph_with(operators)->outputs()[1]->type.dtype, DType::kFloat);
  operators[1].outputs = {{.dtype = DType::kBool}};
  test::expect_error(Code::kInvalidModel, {"type inference", "Add"},
                     [&] { graph_with(operators); });
}

TEST(DeclaredSchemas, FurtherInputsAreAsTheLastOne) {
  std::vector<DeclaredOperator> operators = kOperators;
  operators[0].inputs = {DType::kString};  // the second input is of float
  EXPECT_EQ(graph_with(operators)->outputs()[1]->type.shape.size(), 0U);
}

TEST(DeclaredSchemas, AnOutputMayBeLikeAnInputInItsTypeAlone) {
  std::vector<DeclaredOperator> operators = kOperators;
  operators[1].outputs = {{.like = 0, .is_of_any_rank = true}};
  const auto& smooth = graph_with(operators)->nodes()[1]->outputs[0]->type;
  EXPECT_EQ(smooth.dtype, DType::kFloat);
  EXPECT_FALSE(smooth.has_rank);
}

TEST(DeclaredSchemas, AnOutputLikeAnInputThatIsNotThereIsAnError) {
  std::vector<DeclaredOperator> operators = kOperators;
  operators[1].outputs[0].like = 7;
  test::expect_error(Code::kInvalidModel,
                     {"a provider declares that output 0 is like input 7; the node has 1 inputs"},
                     [&] { graph_with(operators); });
}

TEST(DeclaredSchemas, WithoutADeclarationNothingIsKnown) {
  EXPECT_EQ(graph_with({})->outputs()[0]->type.dtype, DType::kUndefined);
}

TEST(DeclaredSchemas, OperatorsOfTheStoreAreTheStores) {
  const DeclaredSchemas schemas({{"", "Relu", {}, {{.dtype = DType::kBool}}}});
  EXPECT_EQ(schemas.GetSchema("Relu", 21), SchemaStore::instance().GetSchema("Relu", 21));
}

}  // namespace
}  // namespace gantry
