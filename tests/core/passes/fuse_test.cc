// SPDX-License-Identifier: Apache-2.0
// gelu, hard_sigmoid and layer_normalization: what exporters write becomes one node, what only
// looks like it stays.
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "pass_test.h"

namespace gantry {
namespace {

constexpr char kNumbers[] =
    "float r = {1.4142135}, float r16 = {1.4140625}, float i = {0.70710678}, float o = {1}, float "
    "h = {0.5}, float t = {2}, "
    "float c = {3}, float k = {0.79788456}, float e = {0.044715}, float w = {0.6}";

std::string model(const std::string& nodes) {
  return "<ir_version: 10, opset_import: [\"\" : 17]> g (float[N, 8] x) => (float[N, 8] y) <" +
         std::string(kNumbers) + "> { " + nodes + " }";
}

std::string after(const char* pass, const std::string& text) {
  const auto graph = test::graph_of(text);
  test::run_pass(pass, *graph);
  test::run_pass("dead_code", *graph);
  return test::inner_text(*graph);
}

class GeluPattern : public testing::TestWithParam<const char*> {};

TEST_P(GeluPattern, BecomesOneNode) {
  const std::string text = after("gelu", model(GetParam()));
  const char* kind = std::string(GetParam()).find("Tanh") == std::string::npos ? "none" : "tanh";
  EXPECT_NE(text.find("%y = Gelu-20(%x) {approximate = \"" + std::string(kind) + "\"}"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("Mul"), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Gelu, GeluPattern,
    testing::Values(
        "a = Div(x, r) b = Erf(a) s = Add(b, o) m = Mul(x, s) y = Mul(m, h)",
        "a = Mul(x, i) b = Erf(a) s = Add(o, b) m = Mul(s, h) y = Mul(x, m)",
        "a = Mul(i, x) b = Erf(a) s = Add(b, o) m = Mul(x, h) y = Mul(m, s)",
        "a = Div(x, r) b = Erf(a) s = Add(b, o) m = Mul(s, x) y = Div(m, t)",
        "p = Pow(x, c) q = Mul(p, e) u = Add(x, q) v = Mul(u, k) b = Tanh(v) s = Add(b, o) "
        "m = Mul(x, h) y = Mul(m, s)",
        "p1 = Mul(x, x) p = Mul(p1, x) q = Mul(e, p) u = Add(q, x) v = Mul(k, u) b = Tanh(v) "
        "s = Add(o, b) m = Mul(x, s) y = Mul(h, m)",
        "p1 = Mul(e, x) p2 = Mul(p1, x) q = Mul(p2, x) u = Add(x, q) v = Mul(u, k) b = Tanh(v) "
        "s = Add(b, o) m = Mul(x, h) y = Mul(m, s)",
        "p1 = Mul(x, e) p2 = Mul(x, x) q = Mul(p1, p2) u = Add(x, q) v = Mul(u, k) b = Tanh(v) "
        "s = Add(b, o) m = Mul(x, h) y = Mul(m, s)"));

// The root of 2 as float16 has it: rounded where the graph is of that type, and meant so elsewhere.
TEST(Gelu, TakesRoundedNumbersWhereTheGraphIsOfTheirType) {
  const std::string text =
      after("gelu", model("n = Cast <to = 10> (x) z = Cast <to = 1> (n) a = Div(z, r16) b = Erf(a) "
                          "s = Add(b, o) m = Mul(z, s) y = Mul(m, h)"));
  EXPECT_NE(text.find("%y = Gelu-20(%z)"), std::string::npos) << text;
  const auto other =
      test::graph_of(model("a = Div(x, r16) b = Erf(a) s = Add(b, o) m = Mul(x, s) y = Mul(m, h)"));
  EXPECT_FALSE(test::run_pass("gelu", *other));
}

TEST(Gelu, IsLeftToAProviderThatTookItsNodesTogether) {
  const std::string text =
      model("a = Div(x, r) b = Erf(a) s = Add(b, o) m = Mul(x, s) y = Mul(m, h)");
  PassContext context = test::summing_context();
  const int claim = 0;
  context.fusion_group = [&](const Node&) -> const void* { return &claim; };
  EXPECT_FALSE(test::run_pass("gelu", *test::graph_of(text), context));
  context.fusion_group = [&](const Node& node) -> const void* {
    return node.op_type == "Erf" ? &claim : nullptr;
  };
  EXPECT_TRUE(test::run_pass("gelu", *test::graph_of(text), context));
}

class NoGelu : public testing::TestWithParam<const char*> {};

TEST_P(NoGelu, Stays) {
  const auto graph = test::graph_of(model(GetParam()));
  EXPECT_FALSE(test::run_pass("gelu", *graph));
}

INSTANTIATE_TEST_SUITE_P(
    Gelu, NoGelu,
    testing::Values(
        "a = Div(x, t) b = Erf(a) s = Add(b, o) m = Mul(x, s) y = Mul(m, h)",
        "a = Div(r, x) b = Erf(a) s = Add(b, o) m = Mul(x, s) y = Mul(m, h)",
        "a = Div(x, r) b = Erf(a) s = Add(b, t) m = Mul(x, s) y = Mul(m, h)",
        "a = Div(x, r) b = Erf(a) s = Add(b, o) m = Mul(a, s) y = Mul(m, h)",
        "a = Div(x, r) b = Erf(a) s = Add(b, o) m = Mul(x, s) y = Mul(m, w)",
        "a = Div(x, r) b = Erf(a) s = Add(b, o) m = Mul(x, s) z = Mul(m, h) y = Add(z, s)",
        "p = Pow(x, t) q = Mul(p, e) u = Add(x, q) v = Mul(u, k) b = Tanh(v) s = Add(b, o) "
        "m = Mul(x, h) y = Mul(m, s)",
        "p1 = Mul(e, x) q = Mul(p1, x) u = Add(x, q) v = Mul(u, k) b = Tanh(v) s = Add(b, o) "
        "m = Mul(x, h) y = Mul(m, s)",
        "p1 = Mul(h, x) p2 = Mul(p1, x) q = Mul(p2, x) u = Add(x, q) v = Mul(u, k) b = Tanh(v) "
        "s = Add(b, o) m = Mul(x, h) y = Mul(m, s)"));

std::string hard(const std::string& nodes) {
  return "<ir_version: 10, opset_import: [\"\" : 17]> g (float[N, 8] x, float[N, 8] z) => "
         "(float[N, 8] y) <float o = {0}, float c = {3}, float s = {6}, float i = {0.16666667}, "
         "float f = {5}> { " +
         nodes + " }";
}

class HardSigmoidPattern : public testing::TestWithParam<const char*> {};

TEST_P(HardSigmoidPattern, BecomesOneNode) {
  const std::string text = after("hard_sigmoid", hard(GetParam()));
  EXPECT_NE(text.find("HardSigmoid-6(%x) {alpha = 0.16666667, beta = 0.5}"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("Clip"), std::string::npos) << text;
  EXPECT_EQ(text.find("Div"), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(
    HardSigmoid, HardSigmoidPattern,
    testing::Values("a = Add(x, c) b = Clip(a, o, s) y = Div(b, s)",
                    "a = Add(c, x) b = Clip(a, o, s) y = Mul(i, b)",
                    "a = Add(x, c) b = Clip(a, o, s) d = Div(b, s) y = Mul(x, d)",
                    "a = Add(x, c) b = Clip(a, o, s) d = Mul(x, b) y = Div(d, s)",
                    "a = Add(x, c) b = Clip(a, o, s) d = Mul(b, x) e = Div(d, s) y = Neg(e)"));

class NoHardSigmoid : public testing::TestWithParam<const char*> {};

TEST_P(NoHardSigmoid, Stays) {
  const auto graph = test::graph_of(hard(GetParam()));
  EXPECT_FALSE(test::run_pass("hard_sigmoid", *graph));
}

INSTANTIATE_TEST_SUITE_P(
    HardSigmoid, NoHardSigmoid,
    testing::Values("a = Add(x, f) b = Clip(a, o, s) y = Div(b, s)",
                    "a = Add(x, c) b = Clip(a, o, f) y = Div(b, s)",
                    "a = Add(x, c) b = Clip(a, c, s) y = Div(b, s)",
                    "a = Add(x, c) b = Clip(a, o, s) y = Div(b, f)",
                    "a = Add(x, c) b = Clip(a, o, s) y = Div(s, b)",
                    "a = Add(x, c) b = Clip(a, o, s) d = Mul(z, b) y = Div(d, s)",
                    "a = Add(x, c) b = Clip(a, o, s) d = Div(b, s) y = Add(b, d)"));

TEST(HardSigmoid, IsFoundWhereItReadsWhatAnotherOneMakes) {
  const std::string text =
      after("hard_sigmoid", hard("a = Add(x, c) b = Clip(a, o, s) d = Mul(b, x) e = Div(d, s) "
                                 "j = Add(e, c) k = Clip(j, o, s) y = Div(k, s)"));
  EXPECT_EQ(text.find("Div"), std::string::npos) << text;
  EXPECT_NE(text.find("%d = Mul-14(%b, %x)"), std::string::npos) << text;
  EXPECT_NE(text.find("%y = HardSigmoid-6(%d)"), std::string::npos) << text;
}

std::string normalization(const std::string& nodes) {
  return "<ir_version: 10, opset_import: [\"\" : 17]> g (float[N, 3] x) => (float[N, 3] y) "
         "<float two = {2}, float eps = {0.00001}, float[3] g = {1, 2, 3}, float[3] b = {4, 5, 6}, "
         "float[2] small = {1, 2}> { " +
         nodes + " }";
}

constexpr char kDeviation[] =
    "m = ReduceMean <axes = [-1]> (x) d = Sub(x, m) q = Pow(d, two) v = ReduceMean <axes = [1]> "
    "(q) "
    "e = Add(v, eps) s = Sqrt(e) ";

TEST(LayerNormalization, BecomesOneNode) {
  std::string text = after("layer_normalization",
                           normalization(kDeviation + std::string("n = Div(d, s) h = Mul(n, g) "
                                                                  "y = Add(b, h)")));
  EXPECT_NE(text.find("%y = LayerNormalization-17(%x, %g, %b)"), std::string::npos) << text;
  EXPECT_EQ(text.find("ReduceMean"), std::string::npos) << text;
  text = after("layer_normalization",
               normalization(kDeviation + std::string("n = Div(d, s) y = Mul(g, n)")));
  EXPECT_NE(text.find("%y = LayerNormalization-17(%x, %g)"), std::string::npos) << text;
}

TEST(LayerNormalization, StaysWhereItIsAnother) {
  const std::string other_axis =
      "m = ReduceMean <axes = [0]> (x) d = Sub(x, m) q = Pow(d, two) v = ReduceMean <axes = [0]> "
      "(q) e = Add(v, eps) s = Sqrt(e) n = Div(d, s) y = Mul(n, g)";
  const std::string other_square =
      "m = ReduceMean <axes = [-1]> (x) d = Sub(x, m) q = Mul(d, x) v = ReduceMean <axes = [-1]> "
      "(q) e = Add(v, eps) s = Sqrt(e) n = Div(d, s) y = Mul(n, g)";
  for (const std::string& nodes :
       {other_axis, other_square, kDeviation + std::string("y = Div(d, s)"),
        kDeviation + std::string("n = Div(s, d) y = Mul(n, g)"),
        kDeviation + std::string("n = Div(d, s) y = Mul(n, x)")}) {
    const auto graph = test::graph_of(normalization(nodes));
    EXPECT_FALSE(test::run_pass("layer_normalization", *graph)) << nodes;
  }
}

// A number of rank 3 makes a result of rank 3 of x, which one operator on x would not.
class RankOfANumber : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(RankOfANumber, IsKept) {
  const auto& [pass, nodes] = GetParam();
  const auto graph = test::graph_of(
      "<ir_version: 10, opset_import: [\"\" : 17]> g (float[N, 3] x) => (float[1, N, 3] y) "
      "<float r = {1.4142135}, float l = {1}, float[1,1,1] h = {0.5}, float o = {0}, "
      "float[1,1,1] c = {3}, float s = {6}, float two = {2}, float[1,1,1] eps = {0.00001}, "
      "float[3] g = {1, 2, 3}> { " +
      std::string(nodes) + " }");
  EXPECT_FALSE(test::run_pass(pass, *graph));
}

INSTANTIATE_TEST_SUITE_P(
    Fuse, RankOfANumber,
    testing::Values(
        std::pair{"gelu", "a = Div(x, r) b = Erf(a) n = Add(b, l) m = Mul(x, n) y = Mul(m, h)"},
        std::pair{"hard_sigmoid", "a = Add(x, c) b = Clip(a, o, s) y = Div(b, s)"},
        std::pair{"hard_sigmoid", "a = Add(x, c) b = Clip(a, o, s) d = Mul(x, b) y = Div(d, s)"},
        std::pair{"layer_normalization",
                  "m = ReduceMean <axes = [-1]> (x) d = Sub(x, m) q = Pow(d, two) "
                  "v = ReduceMean <axes = [1]> (q) e = Add(v, eps) w = Sqrt(e) n = Div(d, w) "
                  "y = Mul(n, g)"}));

}  // namespace
}  // namespace gantry
