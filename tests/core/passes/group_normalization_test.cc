// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <string>

#include "pass_test.h"

namespace gantry {
namespace {

// Six channels in three groups.
constexpr char kGroupConstants[] =
    "int64[3] to_groups = {0, 3, -1}, int64[3] moves_batch = {3, 3, -1}, float[3] ones = {1, 1, "
    "1}, "
    "float[3] zeros = {0, 0, 0}, float[6,1,1] g = {1, 2, 3, 4, 5, 6}, "
    "float[6,1,1] b = {6, 5, 4, 3, 2, 1}, float[1,6,1,1] g4 = {1, 2, 3, 4, 5, 6}, "
    "float[6] last = {1, 2, 3, 4, 5, 6}, int64[4] turned = {2, 6, 6, 4}";

std::string group_model(const std::string& nodes, const std::string& shape = "2, 6, 4, 6") {
  return "<ir_version: 10, opset_import: [\"\" : 17]> g (float[" + shape + "] x) => (float[" +
         shape + "] y) <" + kGroupConstants + "> { " + nodes + " }";
}

std::string group_normalized(const std::string& behind) {
  return "s = Shape(x) a = Reshape(x, to_groups) "
         "n = InstanceNormalization <epsilon = 0.25> (a, ones, zeros) c = Reshape(n, s) " +
         behind;
}

bool is_group_raised(const std::string& text) {
  return test::run_pass("group_normalization", *test::graph_of(text));
}

TEST(GroupNormalization, BecomesOneNode) {
  for (const std::string& shape : {std::string("2, 6, 4, 6"), std::string("N, 6, H, W")}) {
    const auto graph =
        test::graph_of(group_model(group_normalized("d = Mul(g4, c) y = Add(d, b)"), shape));
    EXPECT_TRUE(test::run_pass("group_normalization", *graph));
    test::run_pass("dead_code", *graph);
    const std::string text = test::inner_text(*graph);
    EXPECT_NE(text.find("%y = GroupNormalization-21(%x, "), std::string::npos) << text;
    EXPECT_NE(text.find("epsilon = 0.25"), std::string::npos) << text;
    EXPECT_NE(text.find("num_groups = 3"), std::string::npos) << text;
    EXPECT_EQ(text.find("Reshape"), std::string::npos) << text;
    EXPECT_EQ(text.find("[6,1,1]"), std::string::npos) << "scale and shift are vectors: " << text;
  }
}

TEST(GroupNormalization, StaysWhereItIsAnother) {
  EXPECT_TRUE(is_group_raised(group_model(group_normalized("d = Mul(c, g) y = Add(b, d)"))));
  EXPECT_FALSE(is_group_raised(group_model(group_normalized("d = Mul(c, last) y = Add(d, b)"))))
      << "by column";
  EXPECT_FALSE(is_group_raised(group_model(group_normalized("d = Mul(c, c) y = Add(d, b)"))));
  EXPECT_FALSE(is_group_raised(group_model(group_normalized("d = Mul(c, g) y = Sub(d, b)"))));
  EXPECT_FALSE(is_group_raised(
      group_model("a = Reshape(x, to_groups) n = InstanceNormalization(a, zeros, ones) "
                  "s = Shape(x) c = Reshape(n, s) d = Mul(c, g) y = Add(d, b)")))
      << "scaled and shifted in between";
  EXPECT_FALSE(is_group_raised(
      group_model("a = Reshape(x, to_groups) n = InstanceNormalization(a, ones, zeros) "
                  "c = Reshape(n, turned) d = Mul(c, g) y = Add(d, b)")))
      << "the axes of the result are others";
  EXPECT_FALSE(is_group_raised(
      group_model("a = Reshape(x, moves_batch) n = InstanceNormalization(a, ones, zeros) "
                  "s = Shape(x) c = Reshape(n, s) d = Mul(c, g) y = Add(d, b)",
                  "N, 6, 4, 6")))
      << "groups reach into other samples";
}

}  // namespace
}  // namespace gantry
