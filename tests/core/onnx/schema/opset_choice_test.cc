// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/opset_choice.h"

#include <gtest/gtest.h>

#include "expect_error.h"

namespace gantry {
namespace {

using Versions = std::map<std::string, int>;

TEST(OpsetChoice, TakesAnOpsetInWhichEveryNodeMeansTheSame) {
  OpsetChoice choice;
  choice.add("", "Conv", 11, "Conv \"c\"");  // until 21
  choice.add("", "Relu", 14, "Relu \"r\"");
  choice.add("ai.onnx.ml", "Scaler", 1, "Scaler \"s\"");
  EXPECT_EQ(choice.versions(), (Versions{{"", 14}, {"ai.onnx.ml", 1}}));
}

TEST(OpsetChoice, GoesNoFurtherThanAnOldNodeAllows) {
  OpsetChoice choice;
  choice.add("", "Relu", 6, "Relu \"r\"");
  choice.add("", "Softmax", 1, "Softmax \"s\"");  // 11 means the same with negative axes
  EXPECT_EQ(choice.versions(), (Versions{{"", 10}}));
}

TEST(OpsetChoice, ANodeOfAnyVersionOnlyNeedsItsDomain) {
  OpsetChoice choice;
  choice.need("");
  EXPECT_EQ(choice.versions(), (Versions{{"", 13}}));
  choice.add("", "If", 16, "If \"i\"");
  EXPECT_EQ(choice.versions(), (Versions{{"", 16}}));
}

TEST(OpsetChoice, AnOperatorWithoutASchemaFixesItsDomain) {
  OpsetChoice choice;
  choice.add("my.domain", "Odd", 7, "Odd \"o\"");
  EXPECT_EQ(choice.versions(), (Versions{{"my.domain", 7}}));
  test::expect_error(Code::kUnsupported, {"Odd \"o\"", "Odd \"p\"", "compiled separately"},
                     [&] { choice.add("my.domain", "Odd", 8, "Odd \"p\""); });
}

TEST(OpsetChoice, SaysWhichNodesDoNotGoTogether) {
  OpsetChoice choice;
  choice.add("", "Softmax", 11, "Softmax \"old\"");
  test::expect_error(
      Code::kUnsupported,
      {"LayerNormalization \"new\" of version 17", "Softmax \"old\"", "opset 12"},
      [&] { choice.add("", "LayerNormalization", 17, "LayerNormalization \"new\""); });
}

}  // namespace
}  // namespace gantry
