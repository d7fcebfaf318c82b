// SPDX-License-Identifier: Apache-2.0
#include "onnx/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "expect_error.h"
#include "model_text.h"

namespace gantry {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

std::vector<std::string> op_types(const Graph& graph) {
  std::vector<std::string> types;
  for (const auto& node : graph.nodes()) types.push_back(node->op_type);
  return types;
}

bool everything(const FunctionCall&) { return true; }
bool local(const FunctionCall& call) { return call.domain == "my"; }

constexpr char kLocal[] = R"(
  <ir_version: 10, opset_import: ["" : 18, "my" : 1]>
  g (float[N] x) => (float[N] y) {
    a = my.Twice <k = 2.0> (x)
    y = my.Outer(a)
  }
  <domain: "my", opset_import: ["" : 18]>
  Twice <k> (v) => (w) { c = Constant <value_float : float = @k> () w = Mul(v, c) }
  <domain: "my", opset_import: ["" : 18, "my" : 1]>
  Outer (v) => (w) { t = my.Twice <k = 3.0> (v) w = Relu(t) }
)";

TEST(Functions, LocalOnesAreKnownAndInlinedWithNestedCalls) {
  test::TestModel model(test::model_bytes(kLocal));
  auto graph = model->to_graph();
  EXPECT_THAT(op_types(*graph), ElementsAre("Twice", "Outer"));
  EXPECT_TRUE(model->has_function(*graph->nodes()[0]));
  EXPECT_TRUE(model->inline_functions(local));
  graph = model->to_graph();
  EXPECT_THAT(op_types(*graph), ElementsAre("Mul", "Mul", "Relu"));
  EXPECT_EQ(graph->outputs()[0]->name, "y");
  EXPECT_EQ(graph->outputs()[0]->type.dtype, DType::kFloat);
  EXPECT_FALSE(model->has_function(*graph->nodes()[0]));
}

// Functions that each call the next one so often, and the last one's node.
std::string chain_of_functions(int depth, int calls) {
  std::string text = R"(
  <ir_version: 10, opset_import: ["" : 18, "my" : 1]>
  g (float[N] x) => (float[N] y) { y = my.F0(x) }
)";
  for (int i = 0; i < depth; ++i) {
    const std::string next = i + 1 < depth ? "my.F" + std::to_string(i + 1) : "Relu";
    text += "<domain: \"my\", opset_import: [\"\" : 18, \"my\" : 1]> F" + std::to_string(i) +
            " (v) => (w" + std::to_string(calls) + ") { w0 = Identity(v)";
    for (int call = 0; call < calls; ++call) {
      text += " w" + std::to_string(call + 1) + " = " + next + "(w" + std::to_string(call) + ")";
    }
    text += " }\n";
  }
  return text;
}

TEST(Functions, ThatStandForTooManyNodesAreRefusedBeforeTheyAreInferred) {
  test::expect_error(Code::kUnsupported, {"functions", "more than 500000 nodes"},
                     [] { test::TestModel model(test::model_bytes(chain_of_functions(40, 2))); });
  test::expect_error(Code::kUnsupported, {"functions", "more than 50000 times"},
                     [] { test::TestModel model(test::model_bytes(chain_of_functions(16, 2))); });
  test::TestModel few(test::model_bytes(chain_of_functions(6, 2)));
  EXPECT_TRUE(few->inline_functions(local));
  EXPECT_EQ(few->to_graph()->nodes().size(), 63U + 64U);
}

// The onnx library takes no more than 10,000 functions, and a call becomes one on its way.
TEST(Functions, AreCalledMoreOftenThanAModelMayHaveFunctions) {
  constexpr int kCalls = 10'500;
  std::string text = R"(
  <ir_version: 10, opset_import: ["" : 18, "my" : 1]>
  g (float[N] x) => (float[N] y) { v0 = Relu(x)
)";
  for (int i = 0; i < kCalls; ++i)
    text += " v" + std::to_string(i + 1) + " = my.F(v" + std::to_string(i) + ")";
  text += " y = Relu(v" + std::to_string(kCalls) +
          ") }\n<domain: \"my\", opset_import: [\"\" : 18]> F (v) => (w) { w = Neg(v) }\n";
  test::TestModel model(test::model_bytes(text));
  EXPECT_TRUE(model->inline_functions(local));
  EXPECT_EQ(model->to_graph()->nodes().size(), 2U + kCalls);
}

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) names.push_back(node->name);
  return names;
}

TEST(Functions, NodesAreNamedAfterTheCallsThatTheyStandFor) {
  test::TestModel local_functions(test::model_bytes(kLocal));
  local_functions->inline_functions(local);
  EXPECT_THAT(node_names(*local_functions->to_graph()),
              ElementsAre("Twice/Mul", "Outer/Twice/Mul", "Outer/Relu"));
  test::TestModel of_schemas(test::model_bytes(R"(
    g (float[2] x) => (float[2] y, float[2] z) {
      [first] a = Softplus(x) y = Softplus(a) z = Softplus(x) [first] b = Neg(x)
    })"));
  // Names are those that the graph had before, made up or not.
  EXPECT_THAT(node_names(*of_schemas->to_graph()),
              ElementsAre("first", "Softplus", "Softplus_1", "first_1"));
  of_schemas->inline_functions(everything);
  const std::vector<std::string> names = node_names(*of_schemas->to_graph());
  EXPECT_THAT(names, testing::IsSupersetOf(
                         {"first/Exp", "first/Log", "Softplus/Exp", "Softplus_1/Exp", "first_1"}));
}

TEST(Functions, OnlyWantedOnesAreInlined) {
  test::TestModel model(test::model_bytes(kLocal));
  model->inline_functions([](const FunctionCall& call) { return call.op_type == "Outer"; });
  EXPECT_THAT(op_types(*model->to_graph()), ElementsAre("Twice", "Twice", "Relu"));
}

TEST(Functions, SchemaBodiesAreInlined) {
  test::TestModel model(test::model_bytes(R"(
    <ir_version: 8, opset_import: ["" : 20]>
    g (float[2, 3] x) => (float[2, 3] y) {
      a = Gelu <approximate = "tanh"> (x)
      y = MeanVarianceNormalization <axes = [1]> (a)
    })"));
  auto graph = model->to_graph();
  EXPECT_TRUE(model->has_function(*graph->nodes()[0]));
  model->inline_functions(everything);
  graph = model->to_graph();
  EXPECT_THAT(op_types(*graph), Not(Contains("Gelu")));
  EXPECT_THAT(op_types(*graph), Not(Contains("MeanVarianceNormalization")));
  EXPECT_THAT(op_types(*graph), Contains("Tanh"));
  EXPECT_EQ(model->opsets(), (std::map<std::string, int>{{"", 20}}));
  EXPECT_EQ(graph->outputs()[0]->type.shape, (std::vector<int64_t>{2, 3}));
}

TEST(Functions, SchemaBodiesThatDependOnTypesAreInlinedInBodiesToo) {
  test::TestModel model(test::model_bytes(R"(
    g (bool b, float[2, 3] x) => (float[2, 3] y) {
      s = Constant <value_floats = [1.0, 2.0, 3.0]> ()
      m = Constant <value_float = 1.0> ()
      y = If (b) <
        then_branch = t () => (float[2, 3] p) { p = LayerNormalization(x, s) },
        else_branch = e () => (float[2, 3] q) { q = Clip(x, , m) }
      >
    })"));
  model->inline_functions(everything);
  const auto graph = model->to_graph();
  ASSERT_EQ(graph->nodes().size(), 1u);
  for (const Graph* body : graph->nodes()[0]->bodies()) {
    EXPECT_THAT(op_types(*body), Not(Contains("LayerNormalization")));
    EXPECT_THAT(op_types(*body), Not(Contains("Clip")));
    EXPECT_FALSE(body->nodes().empty());
  }
}

TEST(Functions, SchemaBodiesSeeTheDefaultsOfAbsentAttributes) {
  test::TestModel model(test::model_bytes(
      "g (float[2, 3, 4, 5] x) => (float[2, 3, 4, 5] y) { y = MeanVarianceNormalization(x) }"));
  model->inline_functions(everything);
  EXPECT_THAT(op_types(*model->to_graph()), Contains("ReduceMean"));
}

TEST(Functions, OverASmallerOpsetOfTheSameSchemas) {
  test::TestModel model(test::model_bytes(R"(
    <ir_version: 10, opset_import: ["" : 18, "my" : 1]>
    g (float[N] x) => (float[N] y) { y = my.F(x) }
    <domain: "my", opset_import: ["" : 17]>
    F (v) => (w) { w = Relu(v) }
  )"));
  model->inline_functions(local);
  EXPECT_THAT(op_types(*model->to_graph()), ElementsAre("Relu"));
}

TEST(Functions, WithoutABodyNothingHappens) {
  test::TestModel model(test::model_bytes("g (float[N] x) => (float[N] y) { y = Abs(x) }"));
  EXPECT_FALSE(model->has_function(*model->to_graph()->nodes()[0]));
  EXPECT_FALSE(model->inline_functions(everything));
  EXPECT_THAT(op_types(*model->to_graph()), ElementsAre("Abs"));
}

TEST(Functions, ABodyMayBeThereForSomeTypesOnly) {
  // Its schema builds a body only if the rank is known.
  const std::string head = "<ir_version: 10, opset_import: [\"\" : 27]> g ";
  const std::string nodes = " => (float[] y, float[] s) { y, s = CausalConvWithState(x, w) }";
  test::TestModel unranked(test::model_bytes(head + "(float[] x, float[] w)" + nodes));
  EXPECT_FALSE(unranked->inline_functions(everything));
  EXPECT_THAT(op_types(*unranked->to_graph()), ElementsAre("CausalConvWithState"));
  test::TestModel ranked(test::model_bytes(head + "(float[1,2,4] x, float[2,1,3] w)" + nodes));
  EXPECT_TRUE(ranked->inline_functions(everything));
  EXPECT_THAT(op_types(*ranked->to_graph()), Not(Contains("CausalConvWithState")));
}

TEST(Functions, MustNotCallThemselves) {
  test::expect_error(Code::kInvalidModel, {"Cycle"}, [] {
    test::TestModel model(test::model_bytes(R"(
      <ir_version: 10, opset_import: ["" : 18, "my" : 1]>
      g (float[N] x) => (float[N] y) { y = my.F(x) }
      <domain: "my", opset_import: ["" : 18, "my" : 1]>
      F (v) => (w) { w = my.G(v) }
      <domain: "my", opset_import: ["" : 18, "my" : 1]>
      G (v) => (w) { w = my.F(v) }
    )"));
  });
}

}  // namespace
}  // namespace gantry
