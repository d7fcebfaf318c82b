// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "model_text.h"

namespace gantry {
namespace {

std::string constant_text(DType dtype, std::vector<int64_t> shape,
                          const std::vector<uint8_t>& bytes, int64_t max_elements = 8) {
  const ValueRef value = make_tensor(dtype, std::move(shape));
  std::memcpy(value->view.data, bytes.data(), bytes.size());
  Graph graph;
  graph.name = "g";
  graph.set_outputs({graph.add_constant("c", value)});
  const std::string text = to_text(graph, max_elements);
  const size_t start = text.find("%c = ") + 5;
  return text.substr(start,
                     text.find('\n') == std::string::npos ? 0 : text.find('\n', start) - start);
}

TEST(Text, ShowsNodesAttributesAndBodies) {
  const auto graph = test::graph_of(R"(
    main (bool b, float[N, 3] x) => (float[N, 3] y) {
      w = Constant <value = float[3] {1, 2.5, -3}> ()
      a = LeakyRelu <alpha = 0.5> (x)
      y = If (b) <
        then_branch = t () => (float[N, 3] s) { s = Add(a, w) },
        else_branch = e () => (float[N, 3] u) { u = Sub(w, x) }
      >
    })");
  EXPECT_EQ(to_text(*graph), R"(graph main(%b : bool[], %x : float32[N,3]) -> (%y) {
  %w = float32[3] {1, 2.5, -3}
  %a = LeakyRelu-16(%x) {alpha = 0.5} : float32[N,3]
  %y = If-16(%b) captures (%a, %x) {then_branch = graph t() captures (%a : float32[N,3], _) -> (%s) {
    %w = float32[3] {1, 2.5, -3}
    %s = Add-14(%a, %w) : float32[N,3]
  }, else_branch = graph e() captures (_, %x : float32[N,3]) -> (%u) {
    %w = float32[3] {1, 2.5, -3}
    %u = Sub-14(%w, %x) : float32[N,3]
  }} : float32[N,3]
}
)");
}

TEST(Text, ShowsConstantsOfEveryType) {
  EXPECT_EQ(constant_text(DType::kFloat16, {2}, {0x00, 0x3c, 0x00, 0xc1}), "float16[2] {1, -2.5}");
  EXPECT_EQ(constant_text(DType::kFloat16, {2}, {0x01, 0x00, 0x00, 0xfc}),
            "float16[2] {5.9604645e-08, -inf}");
  EXPECT_EQ(constant_text(DType::kBfloat16, {1}, {0xc0, 0x3f}), "bfloat16[1] {1.5}");
  EXPECT_EQ(constant_text(DType::kInt4, {3}, {0xf1, 0x08}), "int4[3] {1, -1, -8}");
  EXPECT_EQ(constant_text(DType::kUint2, {5}, {0xe4, 0x02}), "uint2[5] {0, 1, 2, 3, 2}");
  EXPECT_EQ(constant_text(DType::kBool, {2}, {1, 0}), "bool[2] {true, false}");
  EXPECT_EQ(constant_text(DType::kInt8, {1}, {0xff}), "int8[1] {-1}");
  EXPECT_EQ(constant_text(DType::kUint8, {}, {0xff}), "uint8[] {255}");
  EXPECT_EQ(constant_text(DType::kFloat8E5M2, {1}, {0x3c}), "float8e5m2[1] {bits60}");
  EXPECT_EQ(constant_text(DType::kInt8, {9}, std::vector<uint8_t>(9)), "int8[9] {9 elements}");
  EXPECT_EQ(constant_text(DType::kInt8, {2}, {1, 2}, 1), "int8[2] {2 elements}");
}

TEST(Text, StringsAreQuoted) {
  Graph graph;
  const ValueRef value = make_tensor(DType::kString, {1});
  value->strings = {"a\"\n"};
  graph.set_outputs({graph.add_constant("c", value)});
  EXPECT_NE(to_text(graph).find(R"(string[1] {"a\"\x0a"})"), std::string::npos);
}

}  // namespace
}  // namespace gantry
