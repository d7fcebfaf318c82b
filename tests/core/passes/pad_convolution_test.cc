// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "pass_test.h"

namespace gantry {
namespace {

// A Pad with these inputs behind x and attributes, and a Conv with these attributes.
std::string padded(const std::string& pad_inputs, const std::string& pad_attributes,
                   const std::string& conv_attributes) {
  return "g (float[1, 3, 8, 8] x, float[4, 3, 3, 3] w, int64[8] given, float z) => "
         "(float[1, 4, n, m] y) <int64[8] pads = {0, 0, 1, 0, 0, 0, 2, 1}, "
         "int64[4] spatial = {1, 0, 2, 1}, int64[2] axes = {2, -1}, "
         "int64[8] channels = {0, 1, 1, 1, 0, 0, 1, 1}, int64[8] cut = {0, 0, -1, 0, 0, 0, 2, 1}, "
         "float zero = {0}, float one = {1}> { p = Pad" +
         pad_attributes + "(x, " + pad_inputs + ") y = Conv" + conv_attributes + "(p, w) }";
}

std::vector<int64_t> pads_after(const std::string& text) {
  const auto graph = test::graph_of(text);
  if (!test::run_pass("pad_convolution", *graph)) return {};
  const Node& conv = *graph->outputs()[0]->producer;
  EXPECT_EQ(conv.inputs[0], graph->inputs[0]);
  return conv.get<std::vector<int64_t>>("pads", {});
}

TEST(PadConvolution, ZerosBecomeThePaddingOfTheConvolution) {
  const std::vector<int64_t> expected = {1, 0, 2, 1};
  EXPECT_EQ(pads_after(padded("pads", "", "")), expected);
  EXPECT_EQ(pads_after(padded("pads, zero", "", "<auto_pad = \"VALID\">")), expected);
  EXPECT_EQ(pads_after(padded("spatial, zero, axes", "", "")), expected);
  EXPECT_EQ(pads_after(padded("pads", "<mode = \"constant\">", "<pads = [1, 1, 1, 1]>")),
            (std::vector<int64_t>{2, 1, 3, 2}));
}

TEST(PadConvolution, OtherPaddingStays) {
  EXPECT_TRUE(pads_after(padded("pads, one", "", "")).empty());
  EXPECT_TRUE(pads_after(padded("pads, z", "", "")).empty());
  EXPECT_TRUE(pads_after(padded("given", "", "")).empty());
  EXPECT_TRUE(pads_after(padded("channels", "", "")).empty());
  EXPECT_TRUE(pads_after(padded("cut", "", "")).empty());
  EXPECT_TRUE(pads_after(padded("pads", "<mode = \"edge\">", "")).empty());
  EXPECT_TRUE(pads_after(padded("pads", "", "<auto_pad = \"SAME_UPPER\">")).empty());
}

TEST(PadConvolution, APadThatOthersReadStays) {
  const auto graph = test::graph_of(
      "g (float[1, 3, 8, 8] x, float[4, 3, 3, 3] w) => (float[1, 4, n, m] y, float[1, 3, k, l] p) "
      "<int64[8] pads = {0, 0, 1, 0, 0, 0, 2, 1}> { p = Pad(x, pads) y = Conv(p, w) }");
  EXPECT_FALSE(test::run_pass("pad_convolution", *graph));
}

}  // namespace
}  // namespace gantry
