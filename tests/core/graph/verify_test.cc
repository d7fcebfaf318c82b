// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>

#include "expect_error.h"
#include "graph/graph.h"

namespace gantry {
namespace {

struct Sample {
  Graph graph;
  GraphValue* x;
  GraphValue* y;
  Node* node;
  GraphValue* z;
  Node* loop;
  Graph* body;

  Sample() {
    x = graph.add_value("x");
    y = graph.add_value("y");
    graph.inputs = {x};
    node = graph.add_node("Relu", "", 14, "r");
    graph.add_input(node, x);
    graph.add_output(node, y);
    loop = graph.add_node("Loop", "", 16, "l");
    auto owned = std::make_unique<Graph>();
    body = owned.get();
    body->name = "body";
    loop->attributes.push_back({"body", std::move(owned)});
    graph.add_capture(loop, y);
    body->captures = {body->add_value("y")};
    body->set_outputs({body->captures[0]});
    z = graph.add_value("z");
    graph.add_output(loop, z);
    graph.set_outputs({z});
  }
};

void expect_breach(const std::string& message, const std::function<void(Sample&)>& damage) {
  Sample sample;
  verify(sample.graph);
  damage(sample);
  test::expect_error(Code::kInternal, {message}, [&] { verify(sample.graph); });
}

TEST(Verify, FindsEachBreach) {
  expect_breach("before it is defined", [](Sample& s) { s.graph.inputs.clear(); });
  expect_breach("two values", [](Sample& s) { s.y->name = "x"; });
  expect_breach("two nodes", [](Sample& s) { s.loop->name = "r"; });
  expect_breach("no name", [](Sample& s) { s.node->name.clear(); });
  expect_breach("does not name its producer", [](Sample& s) { s.y->producer = s.loop; });
  expect_breach("lists other users", [](Sample& s) { s.y->users.push_back(s.node); });
  expect_breach("lists other users", [](Sample& s) { s.x->users.clear(); });
  expect_breach("has a producer", [](Sample& s) { s.graph.inputs.push_back(s.y); });
  expect_breach("defined twice", [](Sample& s) { s.graph.inputs.push_back(s.x); });
  expect_breach("symbol", [](Sample& s) { s.x->type.shape = {1}; });
  expect_breach("no value of this graph",
                [](Sample& s) { s.graph.set_outputs({s.body->captures[0]}); });
  expect_breach("not of this graph", [](Sample& s) { s.node->inputs[0] = s.body->captures[0]; });
  expect_breach("captures, its body", [](Sample& s) { s.body->captures.clear(); });
  expect_breach("no body", [](Sample& s) { s.loop->attributes.clear(); });
  expect_breach("two attributes", [](Sample& s) {
    s.node->attributes.push_back({"a", int64_t{1}});
    s.node->attributes.push_back({"a", int64_t{1}});
  });
  expect_breach("graph \"body\"", [](Sample& s) { s.body->set_outputs({nullptr}); });
  expect_breach("never defined", [](Sample& s) { s.graph.set_outputs({s.graph.add_value("w")}); });
  expect_breach("is declared", [](Sample& s) {
    s.graph.add_constant("c", make_tensor(DType::kFloat, {}))->type.dtype = DType::kInt64;
  });
}

TEST(Verify, BlamesTheModelIfAsked) {
  Sample sample;
  sample.graph.inputs.clear();
  test::expect_error(Code::kInvalidModel, {"Relu \"r\"", "\"x\""},
                     [&] { verify(sample.graph, true); });
}

TEST(Verify, ConstantsAndInputsMayBeOutputs) {
  Sample sample;
  sample.graph.set_outputs(
      {sample.x, sample.x, sample.graph.add_constant("c", make_tensor(DType::kFloat, {}))});
  EXPECT_NO_THROW(verify(sample.graph));
}

}  // namespace
}  // namespace gantry
