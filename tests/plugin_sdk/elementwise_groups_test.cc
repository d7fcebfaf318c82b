// SPDX-License-Identifier: Apache-2.0
// Fusion groups of element-wise nodes: limits of kernels, broken shapes, cycles, and the same group
// for the claim and the compile.
#include <gantry/sdk/elementwise_groups.h>

#include <gtest/gtest.h>
#include <string_view>

#include "plugin_sdk/node_graph.h"

namespace gantry::sdk {
namespace {

/// Every node but MatMul is element-wise.
ElementwiseRules rules_for(const GraphIndex& index) {
  ElementwiseRules rules;
  rules.may_fuse = [&index](uint32_t node) { return index.node(node).op_type() != "MatMul"; };
  return rules;
}

TEST(ElementwiseGroupsTest, OneOutputLeavesOutWhatOthersRead) {
  NodeGraph graph;
  const uint32_t x = graph.value({2, 3});
  const uint32_t a = graph.node("Exp", {x});
  const uint32_t b = graph.node("Neg", {a});
  const uint32_t c = graph.node("Abs", {b});
  graph.node("MatMul", {a, c});
  const GraphIndex index(nullptr, graph.view());
  ElementwiseRules rules = rules_for(index);
  EXPECT_EQ(elementwise_groups(index, rules), (ElementwiseGroups{{0, 1, 2}}));
  rules.max_outputs = 1;
  EXPECT_EQ(elementwise_groups(index, rules), (ElementwiseGroups{{0}, {1, 2}}));
}

TEST(ElementwiseGroupsTest, OneOutputLeavesOutOutputsOfTheGraphAndUnreadValues) {
  NodeGraph graph;
  const uint32_t x = graph.value({2, 3});
  const uint32_t a = graph.node("Exp", {x});
  const uint32_t b = graph.node("Neg", {a});
  graph.node("Abs", {b});
  graph.node("Sqrt", {x});
  graph.info(a).is_graph_output = 1;
  const GraphIndex index(nullptr, graph.view());
  ElementwiseRules rules = rules_for(index);
  rules.max_outputs = 1;
  EXPECT_EQ(elementwise_groups(index, rules), (ElementwiseGroups{{0}, {1, 2}, {3}}));
}

TEST(ElementwiseGroupsTest, OneOutputTakesANodeWhoseReadersAreAllInTheGroup) {
  NodeGraph graph;
  const uint32_t x = graph.value({2, 3});
  const uint32_t a = graph.node("Exp", {x});
  const uint32_t b = graph.node("Neg", {a});
  const uint32_t c = graph.node("Abs", {a});
  graph.node("Add", {b, c});
  const GraphIndex index(nullptr, graph.view());
  ElementwiseRules rules = rules_for(index);
  rules.max_outputs = 1;
  EXPECT_EQ(elementwise_groups(index, rules), (ElementwiseGroups{{0, 1, 2, 3}}));
}

TEST(ElementwiseGroupsTest, CountsDistinctInputsOnceAndAbsentOnesNot) {
  NodeGraph graph;
  const uint32_t x = graph.value({2, 3});
  const uint32_t y = graph.value({2, 3});
  const uint32_t z = graph.value({2, 3});
  const uint32_t a = graph.node("Mul", {x, z});
  const uint32_t b = graph.node("Clip", {a, GANTRY_NONE, y});
  graph.node("Add", {b, y});
  const GraphIndex index(nullptr, graph.view());
  ElementwiseRules rules = rules_for(index);
  rules.max_inputs = 3;
  EXPECT_EQ(elementwise_groups(index, rules), (ElementwiseGroups{{0, 1, 2}}));
  rules.max_inputs = 2;
  EXPECT_EQ(elementwise_groups(index, rules), (ElementwiseGroups{{0}, {1, 2}}));
}

TEST(ElementwiseGroupsTest, LimitsNodes) {
  NodeGraph graph;
  uint32_t value = graph.value({2, 3});
  for (int i = 0; i < 5; ++i) value = graph.node("Neg", {value});
  const GraphIndex index(nullptr, graph.view());
  ElementwiseRules rules = rules_for(index);
  rules.max_nodes = 2;
  EXPECT_EQ(elementwise_groups(index, rules), (ElementwiseGroups{{0}, {1, 2}, {3, 4}}));
}

TEST(ElementwiseGroupsTest, JoinsSiblingsThroughTheirProducerOnly) {
  NodeGraph graph;
  const uint32_t x = graph.value({2, 3});
  const uint32_t a = graph.node("Exp", {x});
  graph.node("Neg", {a});
  graph.node("Abs", {a});
  graph.node("Sqrt", {x});
  const GraphIndex index(nullptr, graph.view());
  EXPECT_EQ(elementwise_groups(index, rules_for(index)), (ElementwiseGroups{{0, 1, 2}, {3}}));
}

TEST(ElementwiseGroupsTest, NeverClosesACycleWithOtherNodes) {
  NodeGraph graph;
  const uint32_t x = graph.value({2, 3});
  const uint32_t a = graph.node("Exp", {x});
  const uint32_t m = graph.node("MatMul", {a, x});
  const uint32_t b = graph.node("Add", {a, m});
  graph.node("Neg", {b});
  const GraphIndex index(nullptr, graph.view());
  EXPECT_EQ(elementwise_groups(index, rules_for(index)), (ElementwiseGroups{{0}, {2, 3}}));
}

TEST(ElementwiseGroupsTest, AsksWhetherTwoNodesMayJoin) {
  NodeGraph graph;
  const uint32_t x = graph.value({2, 3});
  const uint32_t a = graph.node("Exp", {x});
  const uint32_t b = graph.node("Neg", {a});
  const uint32_t c = graph.node("Abs", {b});
  graph.node("Sqrt", {c});
  const GraphIndex index(nullptr, graph.view());
  ElementwiseRules rules = rules_for(index);
  rules.may_join = [](uint32_t producer, uint32_t) { return producer != 1; };
  EXPECT_EQ(elementwise_groups(index, rules), (ElementwiseGroups{{0, 1}, {2, 3}}));
}

// Which nodes may be fused decides the stages of a whole graph. When a claim is compiled only its
// own nodes may be: an operand that another group makes must not part them.
TEST(ElementwiseGroupsTest, FindsAGroupAgainAmongTheNodesOfItsClaim) {
  NodeGraph graph;
  const uint32_t x = graph.value({2, 3});
  const uint32_t p = graph.node("Neg", {graph.node("Exp", {x})});
  const uint32_t a = graph.node("Abs", {graph.node("MatMul", {x, x})});
  graph.node("Sqrt", {graph.node("Add", {a, p})});
  const gantry_graph& view = graph.view();
  const GraphIndex index(nullptr, view);
  ElementwiseRules rules = rules_for(index);
  // As by extents that differ: `p` is broadcast.
  rules.may_join = [](uint32_t producer, uint32_t) { return producer != 1; };
  ASSERT_EQ(elementwise_groups(index, rules), (ElementwiseGroups{{0, 1}, {3, 4, 5}}));
  const Nodes claimed = {3, 4, 5};
  const GraphIndex compiled(nullptr, view, claimed);
  rules.may_fuse = [](uint32_t node) { return node >= 3; };
  EXPECT_EQ(elementwise_group_at(compiled, rules, 5), claimed);
  EXPECT_EQ(elementwise_group_at(compiled, rules, 4), Nodes()) << "not the last node of a group";
}

TEST(ElementwiseGroupsTest, FindsAGroupOfOneNode) {
  NodeGraph graph;
  const uint32_t x = graph.value({2, 3});
  graph.node("Neg", {graph.node("Exp", {x})});
  const GraphIndex index(nullptr, graph.view());
  ElementwiseRules rules = rules_for(index);
  rules.may_fuse = [](uint32_t) { return false; };
  EXPECT_EQ(elementwise_group_at(index, rules, 1), Nodes{1});
}

}  // namespace
}  // namespace gantry::sdk
