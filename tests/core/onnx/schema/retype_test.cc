// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/retype.h"

#include <gtest/gtest.h>
#include <string>

#include "model_text.h"

namespace gantry {
namespace {

TEST(Retype, OfWhatTheSchemaBindsTogether) {
  const auto may = [](const std::string& model) {
    const auto graph = test::graph_of("<ir_version: 12, opset_import: [\"\" : 26]> " + model);
    return can_retype(*graph->nodes()[0], DType::kFloat16, DType::kFloat);
  };
  EXPECT_TRUE(may("g (float16[N] x) => (float16[N] y) { y = Relu(x) }"));
  EXPECT_TRUE(may("g (float16[N] x) => (bool[N] y) { y = IsNaN(x) }"));
  EXPECT_TRUE(may("g (int64[N] x) => (float16[N] y) { y = Cast <to = 10> (x) }"));
  EXPECT_TRUE(may("g (int8[N] x, float16 s) => (float16[N] y) { y = DequantizeLinear(x, s) }"));
  EXPECT_FALSE(may("g (float[N] x) => (float[N] y) { y = Relu(x) }"));
  EXPECT_FALSE(may("g (float16[N] x) => (float16[N] y) { y = RandomNormalLike(x) }"));
  EXPECT_FALSE(may("g (float16[N] x) => (int16[N] y) { y = BitCast <to = 5> (x) }"));
}

}  // namespace
}  // namespace gantry
