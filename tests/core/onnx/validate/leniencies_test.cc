// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/leniencies.h"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "model_text.h"

namespace gantry {
namespace {

using ONNX_NAMESPACE::ModelProto;

std::vector<std::string> warnings_of(const ModelProto& model) {
  test::TestModel loaded(model.SerializeAsString());
  (void)loaded->to_graph();
  return loaded->warnings();
}

TEST(Leniencies, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Leniency& row : leniencies()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.does.empty() || row.instead.empty() || row.range.empty()) << row.name;
  }
}

TEST(FaultLog, SaysEachFaultOnceInTheOrderOfTheTable) {
  FaultLog log;
  EXPECT_TRUE(log.warnings().empty());
  log.note(Fault::kUntypedOutput, "output \"a\"");
  log.note(Fault::kUntypedOutput, "output \"b\"");
  log.note(Fault::kUnnamedGraph, "the graph");
  const std::vector<std::string> expected = {
      "unnamed-graph: the graph has no name; it is called \"graph\"",
      "untyped-output: output \"a\" has no type; its type is inferred (2 times in this model)"};
  EXPECT_EQ(log.warnings(), expected);
}

TEST(Leniencies, AModelWithoutFaultsHasNoWarnings) {
  EXPECT_TRUE(
      warnings_of(test::parse_model("g (float[N] x) => (float[N] y) { y = Relu(x) }")).empty());
}

TEST(Leniencies, AnUntypedOutputGetsTheInferredType) {
  ModelProto model =
      test::parse_model("g (float[2, 3] x) => (float[2, 3] y) { a = Shape(x) y = Relu(x) }");
  model.mutable_graph()->add_output()->set_name("a");
  model.mutable_graph()->add_output()->set_name("x");
  model.mutable_graph()->mutable_output(2)->mutable_type();  // there, and says nothing
  test::TestModel loaded(model.SerializeAsString());
  const auto graph = loaded->to_graph();
  EXPECT_EQ(graph->outputs()[1]->type.dtype, DType::kInt64);
  EXPECT_EQ(graph->outputs()[1]->type.shape, std::vector<int64_t>({2}));
  EXPECT_EQ(graph->outputs()[2]->type.shape, std::vector<int64_t>({2, 3}));
  const std::vector<std::string> expected = {
      "model in memory: untyped-output: output \"a\" has no type; its type is inferred "
      "(2 times in this model)"};
  EXPECT_EQ(loaded->warnings(), expected);
}

TEST(Leniencies, NodesAreSortedAndThoseInOrderStay) {
  test::TestModel loaded(test::model_bytes(R"(g (float[N] x) => (float[N] y) {
      p = Abs(x) y = Add(a, p) q = Neg(x) a = Relu(q) })"));
  const auto graph = loaded->to_graph();
  std::string order;
  for (const auto& node : graph->nodes()) order += node->op_type + " ";
  EXPECT_EQ(order, "Abs Neg Relu Add ");
  EXPECT_EQ(loaded->warnings().size(), 1U);
}

TEST(Leniencies, ABodyWaitsForWhatItReadsOutside) {
  const ModelProto model = test::parse_model(R"(g (bool b, float[N] x) => (float[N] y) {
      y = If (b) <then_branch = t () => (float[N] s) { s = Relu(late) },
                  else_branch = e () => (float[N] u) { u = Abs(x) }>
      late = Relu(x)
    })");
  const std::vector<std::string> expected = {
      "model in memory: nodes-out-of-order: If that makes \"y\" stands before a node whose output "
      "it reads; the nodes are put in the order of their computation"};
  EXPECT_EQ(warnings_of(model), expected);
}

TEST(Leniencies, AContradictedShapeIsNoted) {
  const std::vector<std::string> outer =
      warnings_of(test::parse_model("g (float[2] x) => (float[5] y) { y = Relu(x) }"));
  ASSERT_EQ(outer.size(), 1U);
  EXPECT_NE(outer[0].find("wrong-shape: output \"y\""), std::string::npos) << outer[0];
  ModelProto model = test::parse_model("g (float[2] x) => (float[2] y) { a = Relu(x) y = Abs(a) }");
  auto* info = model.mutable_graph()->add_value_info();
  info->CopyFrom(model.graph().input(0));
  info->set_name("a");
  info->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(7);
  const std::vector<std::string> inner = warnings_of(model);
  ASSERT_EQ(inner.size(), 1U);
  EXPECT_NE(inner[0].find("wrong-shape: "), std::string::npos) << inner[0];
}

}  // namespace
}  // namespace gantry
