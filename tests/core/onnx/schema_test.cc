// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema.h"

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(Schema, SinceVersionIsThatOfTheSchema) {
  EXPECT_EQ(since_version("Relu", "", 18), 14);
  EXPECT_EQ(since_version("Relu", "", 13), 13);
  EXPECT_EQ(since_version("Relu", "", 7), 6);
  EXPECT_EQ(since_version("Scaler", "ai.onnx.ml", 3), 1);
  EXPECT_EQ(since_version("Unknown", "my", 4), 4);
}

TEST(Schema, RandomAndUnknownOperatorsAreNondeterministic) {
  EXPECT_TRUE(is_nondeterministic("RandomUniform", "", 22));
  EXPECT_TRUE(is_nondeterministic("Multinomial", "", 7));
  EXPECT_TRUE(is_nondeterministic("Bernoulli", "", 15));
  EXPECT_TRUE(is_nondeterministic("Unknown", "my", 1));
  EXPECT_FALSE(is_nondeterministic("Add", "", 14));
  EXPECT_FALSE(is_nondeterministic("ConstantOfShape", "", 9));
}

}  // namespace
}  // namespace gantry
