// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "pass_test.h"

namespace gantry {
namespace {

TEST(CommonSubexpressions, AreComputedOnce) {
  test::expect_pass("common_subexpressions", R"(
      g (float[N] x) => (float[N] y) {
        a = Abs(x)
        b = Abs(x)
        c = Neg(a)
        d = Neg(b)
        y = Add(c, d)
      })",
                    R"(  %a = Abs-13(%x) : float32[N]
  %c = Neg-13(%a) : float32[N]
  %y = Add-14(%c, %c) : float32[N]
)");
}

TEST(CommonSubexpressions, MayReadEqualSmallConstants) {
  test::expect_pass("common_subexpressions", R"(
      g (float[N] x) => (float[N] y) {
        two = Constant <value = float {2.0}> ()
        deux = Constant <value = float {2.0}> ()
        a = Mul(x, two)
        b = Mul(x, deux)
        y = Sub(a, b)
      })",
                    R"(  %two = float32[] {2}
  %a = Mul-14(%x, %two) : float32[N]
  %y = Sub-14(%a, %a) : float32[N]
)");
}

TEST(CommonSubexpressions, DifferInAttributesInputsAndConstants) {
  constexpr char kText[] = R"(  %two = float32[] {2}
  %three = float32[] {3}
  %a = Softmax-13(%x) {axis = 0} : float32[M,N]
  %b = Softmax-13(%x) {axis = 1} : float32[M,N]
  %c = Sub-14(%a, %b) : float32[M,N]
  %d = Sub-14(%b, %a) : float32[M,N]
  %e = Mul-14(%c, %two) : float32[M,N]
  %f = Mul-14(%c, %three) : float32[M,N]
  %y = Sum-13(%c, %d, %e, %f) : float32[M,N]
)";
  test::expect_pass("common_subexpressions", R"(
      g (float[M, N] x) => (float[M, N] y) {
        two = Constant <value = float {2.0}> ()
        three = Constant <value = float {3.0}> ()
        a = Softmax <axis = 0> (x)
        b = Softmax <axis = 1> (x)
        c = Sub(a, b)
        d = Sub(b, a)
        e = Mul(c, two)
        f = Mul(c, three)
        y = Sum(c, d, e, f)
      })",
                    kText);
}

TEST(CommonSubexpressions, LeaveRandomNodesAndOutputs) {
  test::expect_pass("common_subexpressions", R"(
      g (float[N] x) => (float[N] y, float[N] z) {
        a = RandomNormalLike(x)
        b = RandomNormalLike(x)
        y = Add(a, b)
        z = Add(a, b)
      })",
                    R"(  %a = RandomNormalLike-1(%x) : float32[N]
  %b = RandomNormalLike-1(%x) : float32[N]
  %y = Add-14(%a, %b) : float32[N]
  %z = Add-14(%a, %b) : float32[N]
)");
}

TEST(CommonSubexpressions, LeaveNodesThatAreKept) {
  const auto graph =
      test::graph_of("g (float[N] x) => (float[N] y) { a = Abs(x) b = Abs(x) y = Add(a, b) }");
  PassContext context = test::summing_context();
  context.is_kept = [](const Node& node) { return node.op_type == "Abs"; };
  EXPECT_FALSE(test::run_pass("common_subexpressions", *graph, context));
  context.is_kept = [](const Node& node) { return node.op_type == "Add"; };
  EXPECT_TRUE(test::run_pass("common_subexpressions", *graph, context));
}

}  // namespace
}  // namespace gantry
