// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "pass_test.h"

namespace gantry {
namespace {

constexpr char kChain[] = R"(
  g (float[2] x) => (float[2] y) {
    a = Constant <value_floats = [1.0, 2.0]> ()
    b = Add(a, a)
    c = Neg(b)
    y = Add(x, c)
  })";

TEST(ConstantFolding, ComputesWholeChainsAtOnce) {
  int calls = 0;
  PassContext context = test::summing_context();
  context.evaluate = [&](const Graph& graph) {
    ++calls;
    verify(graph);
    EXPECT_TRUE(graph.inputs.empty());
    EXPECT_EQ(graph.outputs().size(), 1u);
    return test::evaluate_sums(graph);
  };
  const auto graph = test::graph_of(kChain);
  EXPECT_TRUE(test::run_pass("constant_folding", *graph, context));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(test::inner_text(*graph), R"(  %c = float32[2] {-2, -4}
  %y = Add-14(%x, %c) : float32[2]
)");
}

TEST(ConstantFolding, KeepsTheNamesOfOutputs) {
  test::expect_pass("constant_folding", R"(
      g () => (float[1] y, float[1] z) {
        a = Constant <value_floats = [1.0]> ()
        y = Neg(a)
        z = Neg(y)
      })",
                    R"(  %y = float32[1] {-1}
  %z = float32[1] {1}
)");
}

TEST(ConstantFolding, GoesNodeByNodeIfTheWholeCannotBeComputed) {
  test::expect_pass("constant_folding", R"(
      g (float[2] x) => (float[2] y) {
        a = Constant <value_floats = [1.0, 2.0]> ()
        b = Neg(a)
        c = Abs(b)
        y = Add(x, c)
      })",
                    R"(  %b = float32[2] {-1, -2}
  %c = Abs-13(%b) : float32[2]
  %y = Add-14(%x, %c) : float32[2]
)");
}

TEST(ConstantFolding, MakesAnotherShapeOfAConstantOfItsMemory) {
  const auto graph = test::graph_of(R"(
      g (float[2, 1, 3] x) => (float[2, 1, 3] y) {
        a = Constant <value = float[2, 3] {1, 2, 3, 4, 5, 6}> ()
        axis = Constant <value_ints = [1]> ()
        b = Unsqueeze(a, axis)
        c = Neg(b)
        z = Add(x, b)
        y = Add(z, c)
      })");
  const void* memory = test::value_named(*graph, "a")->constant->view.data;
  PassContext context = test::summing_context();
  std::vector<std::string> computed;
  context.evaluate = [&](const Graph& extract) {
    for (const auto& node : extract.nodes()) computed.push_back(node->op_type);
    return test::evaluate_sums(extract);
  };
  EXPECT_TRUE(test::run_pass("constant_folding", *graph, context));
  EXPECT_EQ(computed, (std::vector<std::string>{"Neg"}));
  const GraphValue* b = test::value_named(*graph, "b");
  ASSERT_TRUE(b->constant && test::value_named(*graph, "c")->constant);
  EXPECT_EQ(b->constant->shape, (std::vector<int64_t>{2, 1, 3}));
  EXPECT_EQ(b->constant->view.data, memory);
}

TEST(ConstantFolding, LeavesRandomNodesAlone) {
  const auto graph = test::graph_of(R"(
      g (float[2] x) => (float[2] y) {
        a = Constant <value_floats = [1.0, 2.0]> ()
        b = RandomNormalLike(a)
        y = Add(x, b)
      })");
  PassContext context = test::summing_context();
  context.evaluate = [](const Graph&) -> std::vector<ValueRef> {
    ADD_FAILURE() << "nothing is to be computed";
    return {};
  };
  EXPECT_FALSE(test::run_pass("constant_folding", *graph, context));
}

TEST(ConstantFolding, LeavesNodesThatWouldMakeTheModelHuge) {
  const auto graph = test::graph_of(R"(
      g (float[2] x) => (float[100000, 100000] y) {
        s = Constant <value_ints = [100000, 100000]> ()
        y = ConstantOfShape(s)
      })");
  PassContext context = test::summing_context();
  context.evaluate = [](const Graph&) -> std::vector<ValueRef> {
    ADD_FAILURE() << "nothing is to be computed";
    return {};
  };
  EXPECT_FALSE(test::run_pass("constant_folding", *graph, context));
}

TEST(ConstantFolding, GivesAttributesBackIfNothingCanBeComputed) {
  const auto graph = test::graph_of(R"(
      g (float[2] x) => (float[2] y) {
        a = Constant <value_floats = [1.0, 2.0]> ()
        b = LeakyRelu <alpha = 0.5> (a)
        y = Add(x, b)
      })");
  EXPECT_FALSE(test::run_pass("constant_folding", *graph));
  EXPECT_EQ(graph->nodes()[0]->get<float>("alpha", 0.0f), 0.5f);
}

TEST(ConstantFolding, NeedsAnEvaluator) {
  const auto graph = test::graph_of(kChain);
  EXPECT_FALSE(test::run_pass("constant_folding", *graph, PassContext()));
}

}  // namespace
}  // namespace gantry
