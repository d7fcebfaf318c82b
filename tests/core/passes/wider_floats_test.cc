// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "onnx/schema/retype.h"
#include "pass_test.h"

namespace gantry {
namespace {

// All nodes are computed wider, but for operators that are named.
PassContext context_without(const std::set<std::string>& exact = {}) {
  PassContext context = test::summing_context();
  context.is_computed_wider = [exact](const Node& node, DType narrow) {
    return !exact.contains(node.op_type) && can_retype(node, narrow, DType::kFloat);
  };
  return context;
}

std::string widened(const std::string& model, const std::set<std::string>& exact = {}) {
  const auto graph = test::graph_of(model);
  test::run_pass("wider_floats", *graph, context_without(exact));
  return test::inner_text(*graph);
}

TEST(WiderFloats, CastsAtTheEdgesOnly) {
  EXPECT_EQ(widened("g (float16[N,4] x, float16[4,8] w) => (float16[N,8] y) "
                    "{ a = MatMul(x, w) b = Relu(a) y = Add(b, a) }"),
            R"(  %x_float32 = Cast-13(%x) {to = 1} : float32[N,4]
  %w_float32 = Cast-13(%w) {to = 1} : float32[4,8]
  %a = MatMul-13(%x_float32, %w_float32) : float32[N,8]
  %b = Relu-14(%a) : float32[N,8]
  %y_float32 = Add-14(%b, %a) : float32[N,8]
  %y = Cast-13(%y_float32) {to = 10} : float16[N,8]
)");
}

TEST(WiderFloats, OfBothKinds) {
  const std::string text = widened(
      "g (bfloat16[N,4] x, bfloat16[4,8] w) => (bfloat16[N,8] y) { a = MatMul(x, w) y = Relu(a) }");
  EXPECT_NE(text.find("%a = MatMul-13(%x_float32, %w_float32) : float32"), std::string::npos)
      << text;
  EXPECT_NE(text.find("%y = Cast-13(%y_float32) {to = 16} : bfloat16"), std::string::npos) << text;
}

TEST(WiderFloats, KeepTheirTypeForThoseOutside) {
  const std::string text = widened(
      "g (float16[N,4] x, float16[4,8] w) => (float16[N,8] y, float16[N,8] z) "
      "{ y = MatMul(x, w) z = Sign(y) }",
      {"Sign"});
  EXPECT_NE(text.find("%y = Cast-13(%y_float32) {to = 10} : float16"), std::string::npos) << text;
  EXPECT_NE(text.find("%z = Sign-13(%y) : float16"), std::string::npos) << text;
}

TEST(WiderFloats, DoNotPayForOneCheapNode) {
  EXPECT_EQ(widened("g (float16[N] x) => (float16[N] y) { y = Relu(x) }"),
            "  %y = Relu-14(%x) : float16[N]\n");
}

TEST(WiderFloats, PayForMoreNodesThanTwiceTheCasts) {
  const std::string text = widened(
      "g (float16[N] x) => (float16[N] y) "
      "{ a = Exp(x) b = Relu(a) c = Neg(b) d = Abs(c) y = Tanh(d) }");
  EXPECT_NE(text.find("%d = Abs-13(%c) : float32"), std::string::npos) << text;
}

TEST(WiderFloats, TheModelsOwnCastsGoAlong) {
  EXPECT_EQ(widened("g (float[N,4] x, float16[4,8] w) => (float[N,8] y) "
                    "{ h = Cast <to = 10> (x) a = MatMul(h, w) y = Cast <to = 1> (a) }"),
            R"(  %h = Cast-13(%x) {to = 1} : float32[N,4]
  %w_float32 = Cast-13(%w) {to = 1} : float32[4,8]
  %a = MatMul-13(%h, %w_float32) : float32[N,8]
  %y = Cast-13(%a) {to = 1} : float32[N,8]
)");
}

TEST(WiderFloats, AreRoundedWhereTheModelCastsThereAndBack) {
  EXPECT_EQ(widened("g (float[N,4] x, float16[4,8] w) => (float[N,4] r, float[N,8] y) "
                    "{ h = Cast <to = 10> (x) r = Cast <to = 1> (h) a = MatMul(h, w) "
                    "y = Cast <to = 1> (a) }"),
            R"(  %h = Cast-13(%x) {to = 10} : float16[N,4]
  %r = Cast-13(%h) {to = 1} : float32[N,4]
  %h_float32 = Cast-13(%h) {to = 1} : float32[N,4]
  %w_float32 = Cast-13(%w) {to = 1} : float32[4,8]
  %a = MatMul-13(%h_float32, %w_float32) : float32[N,8]
  %y = Cast-13(%a) {to = 1} : float32[N,8]
)");
}

TEST(WiderFloats, TablesAndCachesStay) {
  const std::string text = widened(
      "<ir_version: 10, opset_import: [\"\" : 17]> "
      "g (int64[N] i, float16[M,2] past, float16[2,2] w) => (float16[K,2] now, float16[K,2] y) "
      "<float16[3, 2] t = {1, 2, 3, 4, 5, 6}> { rows = Gather(t, i) new = MatMul(w, w) "
      "now = Concat <axis = 0> (past, new) y = MatMul(now, w) }");
  EXPECT_NE(text.find("Gather-13(%t, %i) : float16"), std::string::npos) << text;
  EXPECT_NE(text.find("%now = Concat-13(%past, %new) {axis = 0} : float16"), std::string::npos)
      << text;
  EXPECT_NE(text.find("MatMul-13(%now_float32, %w_float32)"), std::string::npos) << text;
}

TEST(WiderFloats, StayWhereNobodyComputesWider) {
  const std::string model =
      "g (float16[N,4] x, float16[4,8] w) => (float16[N,8] y) { y = MatMul(x, w) }";
  const auto graph = test::graph_of(model);
  EXPECT_FALSE(test::run_pass("wider_floats", *graph, test::summing_context()));
  EXPECT_EQ(widened(model, {"MatMul"}), "  %y = MatMul-13(%x, %w) : float16[N,8]\n");
}

TEST(WiderFloats, StayWhereWeightsWouldBeCastInEachRun) {
  const auto graph =
      test::graph_of("g (float16[N,4] x, float16[4,8] w) => (float16[N,8] y) { y = MatMul(x, w) }");
  PassContext context = context_without();
  context.evaluate = nullptr;
  EXPECT_FALSE(test::run_pass("wider_floats", *graph, context));
}

}  // namespace
}  // namespace gantry
