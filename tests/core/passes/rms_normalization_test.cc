// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <string>

#include "pass_test.h"

namespace gantry {
namespace {

std::string rms_model(const std::string& nodes) {
  return "<ir_version: 10, opset_import: [\"\" : 17]> g (float[N, 8] x) => (float[N, 8] y) "
         "<float two = {2}, float three = {3}, float beside = {2.0000002}, float one = {1}, float "
         "eps = {0.25}, "
         "float[8] g = {1, 2, 3, 4, 5, 6, 7, 8}> { " +
         nodes + " }";
}

constexpr char kRmsRoot[] =
    "a = Pow(x, two) b = ReduceMean <axes = [-1]> (a) c = Add(b, eps) d = Sqrt(c) ";

class RmsNormSpelling : public testing::TestWithParam<std::string> {};

TEST_P(RmsNormSpelling, BecomesOneNode) {
  const auto graph = test::graph_of(rms_model(GetParam()));
  EXPECT_TRUE(test::run_pass("rms_normalization", *graph));
  test::run_pass("dead_code", *graph);
  const std::string text = test::inner_text(*graph);
  EXPECT_NE(text.find("%y = RMSNormalization-23(%x, %g)"), std::string::npos) << text;
  EXPECT_NE(text.find("epsilon = 0.25"), std::string::npos) << text;
  EXPECT_EQ(text.find("ReduceMean"), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Spellings, RmsNormSpelling,
    testing::Values(std::string(kRmsRoot) + "e = Div(x, d) y = Mul(e, g)",
                    std::string(kRmsRoot) + "e = Reciprocal(d) f = Mul(x, e) y = Mul(g, f)",
                    std::string(kRmsRoot) + "e = Div(one, d) f = Mul(e, x) y = Mul(f, g)",
                    "a = Mul(x, x) b = ReduceMean <axes = [1]> (a) c = Add(eps, b) d = Sqrt(c) "
                    "e = Div(x, d) y = Mul(g, e)"));

class NoRmsNorm : public testing::TestWithParam<std::string> {};

TEST_P(NoRmsNorm, Stays) {
  EXPECT_FALSE(test::run_pass("rms_normalization", *test::graph_of(rms_model(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(
    Others, NoRmsNorm,
    testing::Values(
        "a = Pow(x, three) b = ReduceMean <axes = [-1]> (a) c = Add(b, eps) d = Sqrt(c) "
        "e = Div(x, d) y = Mul(e, g)",
        "a = Pow(x, beside) b = ReduceMean <axes = [-1]> (a) c = Add(b, eps) d = Sqrt(c) "
        "e = Div(x, d) y = Mul(e, g)",  // NaN of what is negative
        "a = Pow(x, two) b = ReduceMean <axes = [0]> (a) c = Add(b, eps) d = Sqrt(c) "
        "e = Div(x, d) y = Mul(e, g)",
        "z = Abs(x) a = Pow(z, two) b = ReduceMean <axes = [-1]> (a) c = Add(b, eps) d = Sqrt(c) "
        "e = Div(x, d) y = Mul(e, g)",
        std::string(kRmsRoot) + "e = Div(d, x) y = Mul(e, g)",
        std::string(kRmsRoot) + "e = Mul(x, d) y = Mul(e, g)",
        std::string(kRmsRoot) + "e = Div(three, d) f = Mul(x, e) y = Mul(f, g)",
        std::string(kRmsRoot) + "e = Div(x, d) y = Mul(e, e)",
        std::string(kRmsRoot) + "e = Div(x, d) y = Add(e, g)"));

}  // namespace
}  // namespace gantry
