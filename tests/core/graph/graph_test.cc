// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "expect_error.h"

namespace gantry {
namespace {

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) names.push_back(node->name);
  return names;
}

// x -> a -> b, output b.
struct Chain {
  Graph graph;
  GraphValue* x = graph.add_value("x");
  GraphValue* ax = graph.add_value("ax");
  GraphValue* bx = graph.add_value("bx");
  Node* a = graph.add_node("Relu", "", 14, "a");
  Node* b = graph.add_node("Add", "", 14, "b");
  Chain() {
    graph.inputs = {x};
    graph.add_input(a, x);
    graph.add_output(a, ax);
    graph.add_input(b, ax);
    graph.add_input(b, ax);
    graph.add_output(b, bx);
    graph.set_outputs({bx});
  }
};

TEST(Graph, NamesAreMadeUnique) {
  Graph graph;
  EXPECT_EQ(graph.add_value("v")->name, "v");
  EXPECT_EQ(graph.add_value("v")->name, "v_1");
  EXPECT_EQ(graph.add_value("v_1")->name, "v_1_1");
  EXPECT_EQ(graph.add_value("v")->name, "v_2");
  EXPECT_EQ(graph.add_node("Relu", "", 14, "")->name, "Relu");
  EXPECT_EQ(graph.add_node("Relu", "", 14, "")->name, "Relu_1");
}

TEST(Graph, ReplaceUsesMovesEveryUse) {
  Chain chain;
  chain.graph.set_outputs({chain.bx, chain.ax, chain.ax});
  chain.graph.replace_uses(chain.ax, chain.x);
  EXPECT_EQ(chain.b->inputs, (std::vector<GraphValue*>{chain.x, chain.x}));
  EXPECT_EQ(chain.x->users.size(), 3u);
  EXPECT_TRUE(chain.ax->users.empty());
  EXPECT_EQ(chain.graph.outputs(), (std::vector<GraphValue*>{chain.bx, chain.x, chain.x}));
  EXPECT_FALSE(chain.ax->is_output());
  EXPECT_TRUE(chain.x->is_output());
}

TEST(Graph, AValueIsAnOutputAsLongAsItIsListed) {
  Chain chain;
  EXPECT_TRUE(chain.bx->is_output());
  chain.graph.set_outputs({chain.ax, chain.x, chain.x});
  EXPECT_FALSE(chain.bx->is_output());
  EXPECT_EQ(chain.x->times_listed, 2u);
  chain.graph.set_outputs({chain.x});
  EXPECT_EQ(chain.x->times_listed, 1u);
  EXPECT_FALSE(chain.ax->is_output());
}

TEST(Graph, SweepDestroysRemovedNodesAndLooseValues) {
  Chain chain;
  chain.graph.add_constant("unused", make_tensor(DType::kFloat, {1}));
  chain.graph.replace_uses(chain.ax, chain.x);
  chain.graph.remove_node(chain.a);
  chain.graph.sweep();
  EXPECT_EQ(node_names(chain.graph), std::vector<std::string>{"b"});
  ASSERT_EQ(chain.graph.values().size(), 2u);
  EXPECT_EQ(chain.graph.values()[1]->name, "bx");
  EXPECT_EQ(chain.graph.values()[1]->id, 1u);
  verify(chain.graph);
}

TEST(Graph, SortRestoresTheOrderAndKeepsTheRest) {
  Chain chain;
  // A node before `a`, appended behind everything; and one that reads nothing of the chain.
  Node* late = chain.graph.add_node("Abs", "", 13, "late");
  GraphValue* late_out = chain.graph.add_value("late_out");
  chain.graph.replace_uses(chain.x, late_out);
  chain.graph.add_input(late, chain.x);
  chain.graph.add_output(late, late_out);
  chain.graph.sort();
  EXPECT_EQ(node_names(chain.graph), (std::vector<std::string>{"late", "a", "b"}));
  verify(chain.graph);
}

TEST(Graph, SortReportsACycle) {
  Chain chain;
  chain.graph.replace_uses(chain.x, chain.bx);
  test::expect_error(Code::kInternal, {"cycle"}, [&] { chain.graph.sort(); });
}

TEST(Graph, AttributesHaveTypes) {
  Chain chain;
  chain.a->attributes.push_back({"axis", int64_t{2}});
  EXPECT_EQ(chain.a->get<int64_t>("axis", 0), 2);
  EXPECT_EQ(chain.a->get<int64_t>("other", 5), 5);
  test::expect_error(Code::kInvalidModel, {"Relu \"a\"", "axis"},
                     [&] { (void)chain.a->get<float>("axis", 0.0f); });
}

}  // namespace
}  // namespace gantry
