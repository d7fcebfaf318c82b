// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "pass_test.h"
#include "passes/replace.h"

namespace gantry {
namespace {

constexpr char kModel[] = R"(
  g (bool b, float[1] x) => (float[1] y) {
    a = Relu(x)
    y = If (b) <then_branch = t () => (float[1] s) { s = Add(a, x) },
                else_branch = e () => (float[1] u) { u = Neg(a) }>
  })";

TEST(CaptureConstants, MovesAConstantIntoTheBodies) {
  const auto graph = test::graph_of(kModel);
  GraphValue* a = test::value_named(*graph, "a");
  graph->remove_node(a->producer);
  graph->sweep();
  const ValueRef constant = make_tensor(DType::kFloat, {1});
  *static_cast<float*>(constant->view.data) = 4;
  make_constant(a, constant);
  EXPECT_TRUE(test::run_pass("capture_constants", *graph));
  EXPECT_EQ(
      test::inner_text(*graph),
      R"(  %y = If-16(%b) captures (%x) {then_branch = graph t() captures (%x : float32[1]) -> (%s) {
    %a = float32[1] {4}
    %s = Add-14(%a, %x) : float32[1]
  }, else_branch = graph e() captures (_) -> (%u) {
    %a = float32[1] {4}
    %u = Neg-13(%a) : float32[1]
  }} : float32[1]
)");
}

TEST(CaptureConstants, DropsWhatNoBodyReads) {
  const auto graph = test::graph_of(kModel);
  Node* node = graph->outputs()[0]->producer;
  Graph* branch = node->bodies()[0];
  branch->replace_uses(test::value_named(*branch, "x"), test::value_named(*branch, "a"));
  EXPECT_TRUE(test::run_pass("capture_constants", *graph));
  ASSERT_EQ(node->captures.size(), 1u);
  EXPECT_EQ(node->captures[0]->name, "a");
  EXPECT_FALSE(test::run_pass("capture_constants", *graph));
}

}  // namespace
}  // namespace gantry
