// SPDX-License-Identifier: Apache-2.0
// Matchers and fusion rows over graphs made by hand: the same match for the claim and the compile.
#include <gantry/sdk/fusion.h>

#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "plugin_sdk/node_graph.h"

namespace gantry::sdk {
namespace {

TEST(PatternTest, KnowsOperatorsByNameDomainAndInputsThatAreThere) {
  NodeGraph graph;
  const uint32_t x = graph.value({2, 3});
  graph.node("Clip", {x, GANTRY_NONE, x});
  graph.node("Add", {x, x});
  graph.node("Add", {x, x}, "com.microsoft");
  const GraphIndex index(nullptr, graph.view());
  EXPECT_TRUE(is_operator(index, 0, "Clip"));
  EXPECT_FALSE(is_operator(index, 0, "Clip", 3)) << "one of them is absent";
  EXPECT_TRUE(is_operator(index, 1, "Add", 2));
  EXPECT_FALSE(is_operator(index, 1, "Add", 1));
  EXPECT_FALSE(is_operator(index, 1, "Sub"));
  EXPECT_FALSE(is_operator(index, 2, "Add")) << "of another domain";
  EXPECT_FALSE(is_operator(index, GANTRY_NONE, "Add"));
}

TEST(PatternTest, FindsTheOtherOfTwoOperandsInEitherOrder) {
  NodeGraph graph;
  const uint32_t x = graph.value({2, 3});
  const uint32_t y = graph.value({2, 3});
  graph.node("Add", {x, y});
  graph.node("Add", {y, x});
  graph.node("Add", {x, x});
  graph.node("Clip", {x, y, y});
  const GraphIndex index(nullptr, graph.view());
  EXPECT_EQ(other_operand(index, 0, x), y);
  EXPECT_EQ(other_operand(index, 1, x), y);
  EXPECT_EQ(other_operand(index, 2, x), GANTRY_NONE) << "both are";
  EXPECT_EQ(other_operand(index, 0, 99), GANTRY_NONE) << "neither is";
  EXPECT_EQ(other_operand(index, 3, x), GANTRY_NONE) << "three operands";
}

TEST(PatternTest, FollowsValuesToTheirMakerAndTheirOnlyReader) {
  NodeGraph graph;
  const uint32_t x = graph.value({2, 3});
  const uint32_t sum = graph.node("Add", {x, x});
  const uint32_t relu = graph.node("Relu", {sum});
  graph.node("Abs", {relu});
  graph.node("Neg", {relu});
  const GraphIndex index(nullptr, graph.view());
  EXPECT_EQ(producer_of(index, relu, "Relu", 1), 1U);
  EXPECT_EQ(producer_of(index, relu, "Abs"), GANTRY_NONE);
  EXPECT_EQ(producer_of(index, x, "Relu"), GANTRY_NONE);
  EXPECT_EQ(only_reader_of(index, sum, "Relu"), 1U);
  EXPECT_EQ(only_reader_of(index, sum, "Abs"), GANTRY_NONE);
  EXPECT_EQ(only_reader_of(index, relu, "Abs"), GANTRY_NONE) << "two read it";
  EXPECT_EQ(only_reader_of(index, x, "Add"), GANTRY_NONE) << "one reads it twice";
  EXPECT_EQ(result_of(index, 0), sum);
}

TEST(PatternTest, ReadsConstantsOfOneElement) {
  NodeGraph graph;
  const float number = 0.70710678F;
  gantry_value_info& info = graph.info(graph.value({1, 1}));
  gantry_tensor tensor = {};
  tensor.size = sizeof(tensor);
  tensor.dtype = GANTRY_FLOAT;
  tensor.rank = 2;
  tensor.data = const_cast<float*>(&number);
  tensor.size_bytes = sizeof(number);
  gantry_host host = {};  // whose values are tensors
  host.value_tensor = [](const gantry_value* value) {
    return reinterpret_cast<const gantry_tensor*>(value);
  };
  const auto* value = reinterpret_cast<const gantry_value*>(&tensor);
  info.constant = value;
  const uint32_t several = graph.value({2});
  graph.info(several).constant = value;
  const uint32_t none = graph.value({1});
  const GraphIndex index(&host, graph.view());
  EXPECT_EQ(scalar_constant(index.value(0)), number);
  EXPECT_TRUE(is_scalar_constant(index.value(0), std::sqrt(0.5)));
  EXPECT_FALSE(is_scalar_constant(index.value(0), 0.7));
  EXPECT_FALSE(scalar_constant(index.value(several)));
  EXPECT_FALSE(scalar_constant(index.value(none)));
}

TEST(PatternTest, ComparesExtentsThatAreNumbersOrHaveNames) {
  NodeGraph graph;
  const uint32_t fixed = graph.value({2, 3});
  const uint32_t same = graph.value({2, 3});
  const uint32_t turned = graph.value({3, 2});
  const uint32_t batch = graph.value({-1, 3}, {"batch", ""});
  const uint32_t same_batch = graph.value({-1, 3}, {"batch", ""});
  const uint32_t rows = graph.value({-1, 3}, {"rows", ""});
  const uint32_t unnamed = graph.value({-1, 3}, {"", ""});
  const uint32_t unranked = graph.value({});
  graph.info(unranked).rank = -1;
  const GraphIndex index(nullptr, graph.view());
  EXPECT_TRUE(has_equal_extents(index, fixed, same));
  EXPECT_FALSE(has_equal_extents(index, fixed, turned));
  EXPECT_FALSE(has_equal_extents(index, fixed, batch));
  EXPECT_TRUE(has_equal_extents(index, batch, same_batch));
  EXPECT_FALSE(has_equal_extents(index, batch, rows));
  EXPECT_FALSE(has_equal_extents(index, unnamed, unnamed)) << "a run may have two extents";
  EXPECT_FALSE(has_equal_extents(index, unranked, unranked));
  EXPECT_FALSE(has_equal_extents(index, fixed, GANTRY_NONE));
}

// ---- Rows ----

struct ReluOfAdd : FusionMatch {
  uint32_t left = GANTRY_NONE;
};

std::unique_ptr<ReluOfAdd> match_relu_of_add(const FusionScope& scope, uint32_t root) {
  const GraphIndex& index = scope.index();
  if (!is_operator(index, root, "Add", 2)) return nullptr;
  const uint32_t relu = scope.only_reader(result_of(index, root), "Relu", 1);
  if (relu == GANTRY_NONE) return nullptr;
  auto found = std::make_unique<ReluOfAdd>();
  found->nodes = {root, relu};
  found->left = index.raw(root).inputs[0];
  return found;
}

std::string refuse_nothing(const FusionScope&, const ReluOfAdd&) { return {}; }
std::unique_ptr<Kernel> make_none(const FusionCompile&, const ReluOfAdd&) { return nullptr; }

constexpr FusionRow kRow =
    fusion_row<ReluOfAdd, match_relu_of_add, refuse_nothing, make_none>("relu_of_add");

class FusionTest : public ::testing::Test {
 protected:
  FusionTest() {
    const uint32_t x = graph_.value({2, 3});
    const uint32_t y = graph_.node("Abs", {x});
    const uint32_t sum = graph_.node("Add", {x, y});
    graph_.node("Relu", {sum});
    view_ = &graph_.view();
  }
  [[nodiscard]] gantry_compile compile_of(const Nodes& nodes, uint64_t tag) const {
    gantry_compile args = {};
    args.size = sizeof(args);
    args.graph = view_;
    args.nodes = nodes.data();
    args.node_count = static_cast<uint32_t>(nodes.size());
    args.tag = tag;
    return args;
  }

  NodeGraph graph_;
  const gantry_graph* view_;
};

TEST_F(FusionTest, ARowFindsTheSameMatchOverTheClaimsNodes) {
  const GraphIndex index(nullptr, *view_);
  const FusionScope scope(index, [](uint32_t) { return true; });
  const auto claimed = kRow.match(scope, 1);
  ASSERT_TRUE(claimed);
  EXPECT_EQ(claimed->nodes, (Nodes{1, 2}));
  EXPECT_FALSE(kRow.match(scope, 0));

  const FusionTag tag = FusionTag::of(3, claimed->nodes, 1);
  const Nodes nodes = {2, 1};  // the host may name them in any order
  const gantry_compile args = compile_of(nodes, tag.tag());
  const ClaimedNodes claim(nullptr, args, 4);
  EXPECT_EQ(claim.row(), 3U);
  EXPECT_EQ(claim.root(), 1U);
  const auto compiled = kRow.match(claim.scope(), claim.root());
  claim.require_same("relu_of_add", compiled.get());
  EXPECT_EQ(static_cast<const ReluOfAdd&>(*compiled).left, 0U);
}

TEST_F(FusionTest, NodesThatAreTakenAreNotFused) {
  const GraphIndex index(nullptr, *view_);
  EXPECT_FALSE(kRow.match(FusionScope(index, [](uint32_t node) { return node != 2; }), 1));
}

TEST_F(FusionTest, ATagOfNoRowOrNoNodeIsRefused) {
  const Nodes nodes = {1, 2};
  const auto code_of = [&](uint64_t tag) -> uint32_t {
    try {
      const ClaimedNodes claim(nullptr, compile_of(nodes, tag), 4);
      return GANTRY_OK;
    } catch (const Error& error) {
      return error.code();
    }
  };
  EXPECT_EQ(code_of(FusionTag{3, 1}.tag()), uint32_t{GANTRY_OK});
  EXPECT_EQ(code_of(FusionTag{4, 1}.tag()), uint32_t{GANTRY_INVALID_ARGUMENT});
  EXPECT_EQ(code_of(FusionTag{3, 2}.tag()), uint32_t{GANTRY_INVALID_ARGUMENT});
}

TEST_F(FusionTest, AMatchThatIsNotPureIsAnErrorThatNamesTheKernel) {
  const Nodes nodes = {0, 1, 2};
  const gantry_compile args = compile_of(nodes, FusionTag{0, 1}.tag());
  const ClaimedNodes claim(nullptr, args, 1);
  const auto found = kRow.match(claim.scope(), claim.root());
  try {
    claim.require_same(kRow.kernel, found.get());
    FAIL() << "two nodes are not three";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("relu_of_add"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("2 nodes"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace gantry::sdk
