// SPDX-License-Identifier: Apache-2.0
// quantized_movement and split_dequantize, and that what is kept is not folded.
#include <gtest/gtest.h>
#include <string>

#include "pass_test.h"
#include "passes/quantization.h"

namespace gantry {
namespace {

// A model over uint8 q of [2, 3] with scale s, zero point z and another zero point v.
std::string model(const std::string& nodes, const std::string& outputs,
                  const std::string& constants = "int64[1] shape = {6}") {
  return "<ir_version: 10, opset_import: [\"\" : 21]> g (uint8[2, 3] q) => (" + outputs +
         ") <float s = {0.5}, uint8 z = {3}, uint8 v = {4}, " + constants + "> { " + nodes + " }";
}

TEST(QuantizedMovement, StaysInQuantizedNumbers) {
  const auto graph =
      test::graph_of(model("a = DequantizeLinear(q, s, z) b = Reshape(a, shape) "
                           "y = QuantizeLinear(b, s, z)",
                           "uint8[6] y"));
  EXPECT_TRUE(test::run_pass("quantized_movement", *graph));
  EXPECT_TRUE(test::run_pass("dead_code", *graph));
  const std::string text = test::inner_text(*graph);
  EXPECT_NE(text.find("  %y = Reshape-21(%q, %shape) : uint8[6]\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("Linear"), std::string::npos) << text;
}

TEST(QuantizedMovement, OfSeveralInputsAndReaders) {
  const auto graph = test::graph_of(
      model("a = DequantizeLinear(q, s, z) c = DequantizeLinear(q, s, z) "
            "b = Concat <axis = 0> (a, c) d = QuantizeLinear(b, s, z) e = QuantizeLinear(b, s, z) "
            "y = DequantizeLinear(d, s, z) w = DequantizeLinear(e, s, v)",
            "float[4, 3] y, float[4, 3] w"));
  EXPECT_TRUE(test::run_pass("quantized_movement", *graph));
  const std::string text = test::inner_text(*graph);
  EXPECT_NE(text.find("Concat-13(%q, %q)"), std::string::npos) << text;
  EXPECT_EQ(text.find("QuantizeLinear"), std::string::npos) << text;
}

TEST(QuantizedMovement, NeedsTheSameQuantizationBehindAsBefore) {
  for (const char* nodes :
       {"a = DequantizeLinear(q, s, z) b = Reshape(a, shape) y = QuantizeLinear(b, s, v)",
        "a = DequantizeLinear(q, s) b = Reshape(a, shape) y = QuantizeLinear(b, s, z)",
        "a = DequantizeLinear(q, s, z) c = Abs(a) b = Reshape(c, shape) "
        "y = QuantizeLinear(b, s, z)",
        "a = DequantizeLinear(q, s, z) c = Reshape(a, shape) b = Abs(c) "
        "y = QuantizeLinear(b, s, z)"}) {
    const auto graph = test::graph_of(model(nodes, "uint8[6] y"));
    EXPECT_FALSE(test::run_pass("quantized_movement", *graph)) << nodes;
  }
}

// Of a negative scale, the largest quantized number is the least float.
TEST(QuantizedMovement, NeedsAScaleThatKeepsTheOrder) {
  for (const char* scale : {"-0.5", "0"}) {
    std::string text =
        model("a = DequantizeLinear(q, s, z) b = Reshape(a, shape) y = QuantizeLinear(b, s, z)",
              "uint8[6] y");
    text.replace(text.find("{0.5}"), 5, "{" + std::string(scale) + "}");
    EXPECT_FALSE(test::run_pass("quantized_movement", *test::graph_of(text))) << scale;
  }
}

TEST(QuantizedMovement, OfResizesThatTakeTheNearestElements) {
  const auto moves = [](const std::string& attributes) {
    const auto graph =
        test::graph_of(model("a = DequantizeLinear(q, s, z) b = Resize" + attributes +
                                 "(a, , scales) y = QuantizeLinear(b, s, z)",
                             "uint8[N, M] y", "float[2] scales = {2, 2}"));
    return test::run_pass("quantized_movement", *graph);
  };
  EXPECT_TRUE(moves(""));
  EXPECT_TRUE(moves(" <mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\"> "));
  EXPECT_FALSE(moves(" <mode = \"linear\"> "));
  EXPECT_FALSE(moves(" <mode = \"cubic\"> "));
  // Beyond the edge stands a number that is not quantized.
  EXPECT_FALSE(moves(" <coordinate_transformation_mode = \"tf_crop_and_resize\"> "));
}

TEST(QuantizedMovement, OfElementsThatAreRepeatedOrPicked) {
  for (const char* node : {"Expand(a, wide)", "Tile(a, wide)", "GatherND(a, places)"}) {
    const auto graph = test::graph_of(model(
        "a = DequantizeLinear(q, s, z) b = " + std::string(node) + " y = QuantizeLinear(b, s, z)",
        "uint8[N, M] y", "int64[2] wide = {2, 3}, int64[1, 1] places = {1}"));
    EXPECT_TRUE(test::run_pass("quantized_movement", *graph)) << node;
    EXPECT_TRUE(test::run_pass("dead_code", *graph)) << node;
    EXPECT_EQ(test::inner_text(*graph).find("Linear"), std::string::npos) << node;
  }
}

TEST(SplitDequantize, GivesEachReaderItsOwn) {
  const auto graph = test::graph_of(
      model("a = DequantizeLinear(q, s, z) b = Abs(a) c = Neg(a) y = Add(b, c)", "float[2, 3] y"));
  EXPECT_FALSE(test::run_pass("split_dequantize", *graph));  // nobody says that they are kept
  PassContext context = test::summing_context();
  context.is_kept = is_dequantize;
  EXPECT_TRUE(test::run_pass("split_dequantize", *graph, context));
  const std::string text = test::inner_text(*graph);
  EXPECT_NE(text.find("%a_1 = DequantizeLinear-21(%q, %s, %z)"), std::string::npos) << text;
  EXPECT_NE(text.find("Neg-13(%a_1)"), std::string::npos) << text;
  EXPECT_FALSE(test::run_pass("split_dequantize", *graph, context));
  context.is_kept = {};
  EXPECT_TRUE(test::run_pass("common_subexpressions", *graph, context));
  EXPECT_NE(test::inner_text(*graph).find("Neg-13(%a)"), std::string::npos);
}

TEST(ConstantFolding, LeavesNodesThatAreKept) {
  const auto graph = test::graph_of(
      "g () => (float[1] y) <float[1] c = {2}> { a = Neg(c) b = Neg(a) y = Add(b, b) }");
  PassContext context = test::summing_context();
  context.is_kept = [](const Node& node) { return node.outputs[0]->name == "b"; };
  EXPECT_TRUE(test::run_pass("constant_folding", *graph, context));
  EXPECT_NE(test::inner_text(*graph).find("%b = Neg-13(%a)"), std::string::npos);
}

}  // namespace
}  // namespace gantry
