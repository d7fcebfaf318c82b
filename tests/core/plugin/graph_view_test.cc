// SPDX-License-Identifier: Apache-2.0
#include "plugin/graph_view.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "float_matrix.h"
#include "plugin/error.h"

namespace gantry {
namespace {

std::string text(gantry_str str) { return std::string(to_view(str)); }

// x -> Gemm(x, w, absent) -> y, with an attribute of each type.
std::unique_ptr<Graph> small_graph() {
  auto graph = std::make_unique<Graph>();
  graph->name = "main";
  GraphValue* x = graph->add_value("x", float_matrix(-1, "batch"));
  GraphValue* w = graph->add_constant("w", make_tensor(DType::kFloat, {4, 4}));
  GraphValue* y = graph->add_value("y");
  Node* node = graph->add_node("Gemm", "", 13, "gemm");
  graph->add_input(node, x);
  graph->add_input(node, w);
  graph->add_input(node, nullptr);
  graph->add_output(node, y);
  node->attributes.push_back({"i", int64_t{7}});
  node->attributes.push_back({"f", 0.5F});
  node->attributes.push_back({"s", std::string("text")});
  node->attributes.push_back({"t", make_tensor(DType::kInt64, {2})});
  node->attributes.push_back({"is", std::vector<int64_t>{1, 2, 3}});
  node->attributes.push_back({"fs", std::vector<float>{}});
  node->attributes.push_back({"ss", std::vector<std::string>{"a", "bc"}});
  graph->inputs = {x};
  graph->set_outputs({y});
  graph->renumber();
  return graph;
}

TEST(GraphView, ShowsValues) {
  const auto graph = small_graph();
  const GraphView view(*graph);
  const gantry_graph& c = *view.get();
  EXPECT_EQ(c.size, sizeof(gantry_graph));
  EXPECT_EQ(text(c.name), "main");
  ASSERT_EQ(c.value_count, 3U);
  const gantry_value_info& x = *c.values[c.inputs[0]];
  EXPECT_EQ(text(x.name), "x");
  EXPECT_EQ(x.dtype, static_cast<uint32_t>(GANTRY_FLOAT));
  EXPECT_EQ(x.rank, 2);
  EXPECT_EQ(x.shape[0], -1);
  EXPECT_EQ(x.shape[1], 4);
  EXPECT_EQ(text(x.symbols[0]), "batch");
  EXPECT_EQ(text(x.symbols[1]), "");
  EXPECT_EQ(x.producer, GANTRY_NONE);
  EXPECT_EQ(x.is_graph_output, 0U);
  EXPECT_EQ(x.read_count, graph->inputs[0]->users.size());
  const gantry_value_info& y = *c.values[c.outputs[0]];
  EXPECT_EQ(y.rank, -1);
  EXPECT_EQ(y.shape, nullptr);
  EXPECT_EQ(y.symbols, nullptr);
  EXPECT_EQ(y.producer, 0U);
  EXPECT_EQ(y.is_graph_output, 1U);
  const gantry_node& node = *c.nodes[0];
  EXPECT_EQ(c.values[node.inputs[1]]->constant, graph->nodes()[0]->inputs[1]->constant.get());
}

TEST(GraphView, ShowsNodesAndAttributes) {
  const auto graph = small_graph();
  const GraphView view(*graph);
  const gantry_node& node = *view.get()->nodes[0];
  EXPECT_EQ(text(node.name), "gemm");
  EXPECT_EQ(text(node.op_type), "Gemm");
  EXPECT_EQ(node.since_version, 13);
  ASSERT_EQ(node.input_count, 3U);
  EXPECT_EQ(node.inputs[2], GANTRY_NONE);
  ASSERT_EQ(node.attribute_count, 7U);
  const auto& a = node.attributes;
  EXPECT_EQ(a[0]->ints[0], 7);
  EXPECT_EQ(a[0]->type, static_cast<uint32_t>(GANTRY_ATTRIBUTE_INT));
  EXPECT_EQ(a[1]->floats[0], 0.5F);
  EXPECT_EQ(text(a[2]->strings[0]), "text");
  EXPECT_EQ(a[3]->tensors[0]->shape[0], 2);
  EXPECT_EQ(a[4]->count, 3U);
  EXPECT_EQ(a[4]->ints[2], 3);
  EXPECT_EQ(a[5]->count, 0U);
  EXPECT_EQ(a[5]->type, static_cast<uint32_t>(GANTRY_ATTRIBUTE_FLOATS));
  EXPECT_EQ(text(a[6]->strings[1]), "bc");
}

TEST(GraphView, ShowsBodiesAndCaptures) {
  Graph graph;
  GraphValue* condition = graph.add_value("c");
  GraphValue* outer = graph.add_value("outer");
  GraphValue* y = graph.add_value("y");
  Node* node = graph.add_node("If", "", 16, "if");
  graph.add_input(node, condition);
  graph.add_capture(node, outer);
  graph.add_output(node, y);
  for (const char* name : {"then_branch", "else_branch"}) {
    auto body = std::make_unique<Graph>();
    body->name = name;
    GraphValue* inner = name[0] == 't' ? body->add_value("outer") : nullptr;
    body->captures = {inner};
    GraphValue* result = inner ? inner : body->add_constant("k", make_tensor(DType::kFloat, {}));
    body->set_outputs({result});
    body->renumber();
    node->attributes.push_back({name, std::move(body)});
  }
  graph.inputs = {condition, outer};
  graph.set_outputs({y});
  graph.renumber();
  GraphView first(graph);
  const GraphView view = std::move(first);  // pointers of the view must not follow the object
  const gantry_node& c = *view.get()->nodes[0];
  ASSERT_EQ(c.capture_count, 1U);
  EXPECT_EQ(text(view.get()->values[c.captures[0]]->name), "outer");
  const gantry_graph& then_body = *c.attributes[0]->graphs[0];
  const gantry_graph& else_body = *c.attributes[1]->graphs[0];
  EXPECT_EQ(text(then_body.name), "then_branch");
  ASSERT_EQ(then_body.capture_count, 1U);
  EXPECT_EQ(then_body.captures[0], then_body.outputs[0]);
  EXPECT_EQ(else_body.captures[0], GANTRY_NONE);
  EXPECT_NE(else_body.values[else_body.outputs[0]]->constant, nullptr);
}

TEST(GraphView, EmptyGraph) {
  const Graph graph;
  const GraphView view(graph);
  EXPECT_EQ(view.get()->node_count, 0U);
  EXPECT_EQ(view.get()->value_count, 0U);
}

TEST(GraphView, LongChainsKeepTheirOrder) {
  Graph graph;
  GraphValue* value = graph.add_value("x0");
  graph.inputs = {value};
  constexpr int kNodes = 10000;
  for (int i = 0; i < kNodes; ++i) {
    Node* node = graph.add_node("Relu", "", 14, "r" + std::to_string(i));
    graph.add_input(node, value);
    value = graph.add_value("x" + std::to_string(i + 1));
    graph.add_output(node, value);
    node->attributes.push_back({"i", int64_t{i}});
  }
  graph.set_outputs({value});
  graph.renumber();
  const GraphView view(graph);
  const gantry_graph& c = *view.get();
  ASSERT_EQ(c.node_count, static_cast<uint32_t>(kNodes));
  for (uint32_t i = 0; i < c.node_count; ++i) {
    ASSERT_EQ(c.nodes[i]->attributes[0]->ints[0], static_cast<int64_t>(i));
    ASSERT_EQ(c.values[c.nodes[i]->outputs[0]]->producer, i);
  }
}

}  // namespace
}  // namespace gantry
