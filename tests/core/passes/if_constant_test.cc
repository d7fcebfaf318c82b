// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "pass_test.h"

namespace gantry {
namespace {

TEST(IfConstant, IsReplacedByItsBranch) {
  const std::string body = R"(
      a = Relu(x)
      y = If (b) <then_branch = t () => (float[N] s) { c = Constant <value_floats = [2.0]> () d = Add(a, c) s = Mul(d, x) },
                  else_branch = e () => (float[N] u) { u = Neg(a) }>
    })";
  test::expect_pass("if_constant",
                    "g (float[N] x) => (float[N] y) { b = Constant <value = bool {1}> ()" + body,
                    R"(  %c = float32[1] {2}
  %a = Relu-14(%x) : float32[N]
  %d = Add-14(%a, %c) : float32[N]
  %y = Mul-14(%d, %x) : float32[N]
)");
  test::expect_pass("if_constant",
                    "g (float[N] x) => (float[N] y) { b = Constant <value = bool {0}> ()" + body,
                    R"(  %a = Relu-14(%x) : float32[N]
  %y = Neg-13(%a) : float32[N]
)");
}

TEST(IfConstant, WithReadersBehindItKeepsTheOrder) {
  test::expect_pass("if_constant", R"(
      g (float[N] x) => (float[N] y) {
        b = Constant <value = bool {1}> ()
        i = If (b) <then_branch = t () => (float[N] s) { s = Relu(x) },
                    else_branch = e () => (float[N] u) { u = Neg(x) }>
        y = Abs(i)
      })",
                    R"(  %s = Relu-14(%x) : float32[N]
  %y = Abs-13(%s) : float32[N]
)");
}

TEST(IfConstant, KeepsNestedBodiesConnected) {
  const auto graph = test::graph_of(R"(
      g (bool k, float[N] x) => (float[N] y) {
        b = Constant <value = bool {1}> ()
        y = If (b) <then_branch = t () => (float[N] s) {
                      r = Relu(x)
                      s = If (k) <then_branch = tt () => (float[N] p) { p = Add(r, x) },
                                  else_branch = te () => (float[N] q) { q = Neg(x) }>
                    },
                    else_branch = e () => (float[N] u) { u = Neg(x) }>
      })");
  EXPECT_TRUE(test::run_pass("if_constant", *graph));
  ASSERT_EQ(graph->nodes().size(), 2u);
  const Node& inner = *graph->nodes()[1];
  EXPECT_EQ(inner.outputs[0]->name, "y");
  ASSERT_EQ(inner.captures.size(), 2u);
  EXPECT_EQ(inner.captures[0]->name, "r");
  EXPECT_EQ(inner.captures[1], graph->inputs[1]);
}

TEST(IfConstant, OfARuntimeConditionStays) {
  const auto graph = test::graph_of(R"(
      g (bool b, float[N] x) => (float[N] y) {
        y = If (b) <then_branch = t () => (float[N] s) { s = Relu(x) },
                    else_branch = e () => (float[N] u) { u = Neg(x) }>
      })");
  EXPECT_FALSE(test::run_pass("if_constant", *graph));
}

}  // namespace
}  // namespace gantry
