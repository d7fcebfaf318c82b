// SPDX-License-Identifier: Apache-2.0
#include "passes/pipeline.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

#include "expect_error.h"
#include "pass_test.h"

namespace gantry {
namespace {

// Needs several passes in turn, in a body too.
constexpr char kPipelineModel[] = R"(
  g (bool b, float[1] x) => (float[1] y) {
    c = Constant <value_floats = [2.0]> ()
    d = Identity(c)
    e = Neg(d)
    f, m = Dropout(x)
    unused = Abs(f)
    y = If (b) <then_branch = t () => (float[1] s) { g0 = Add(e, e) h = Identity(g0) s = Add(h, f) },
                else_branch = q () => (float[1] u) { u = Neg(f) }>
  })";

TEST(Pipeline, RunsAllPassesUntilNothingChanges) {
  const auto graph = test::graph_of(kPipelineModel);
  run_passes(*graph, test::summing_context());
  EXPECT_EQ(
      test::inner_text(*graph),
      R"(  %y = If-16(%b) captures (%x) {then_branch = graph t() captures (%f : float32[1]) -> (%s) {
    %g0 = float32[1] {-4}
    %s = Add-14(%g0, %f) : float32[1]
  }, else_branch = graph q() captures (%f : float32[1]) -> (%u) {
    %u = Neg-13(%f) : float32[1]
  }} : float32[1]
)");
}

TEST(Pipeline, PassesAreDisabledByName) {
  const auto graph = test::graph_of(kPipelineModel);
  PipelineOptions options;
  for (const Pass& pass : passes()) options.disabled.emplace_back(pass.name);
  const std::string before = to_text(*graph);
  run_passes(*graph, test::summing_context(), options);
  EXPECT_EQ(to_text(*graph), before);
  options.disabled = {"dead_cod"};
  test::expect_error(Code::kInvalidArgument, {"dead_cod", "dead_code", "identity"},
                     [&] { run_passes(*graph, test::summing_context(), options); });
}

TEST(Pipeline, StopsAfterTheGivenNumberOfChanges) {
  const auto graph = test::graph_of(kPipelineModel);
  const std::string before = to_text(*graph);
  PipelineOptions options;
  options.stop_after = 0;
  run_passes(*graph, test::summing_context(), options);
  EXPECT_EQ(to_text(*graph), before);
  options.stop_after = 1;
  run_passes(*graph, test::summing_context(), options);
  EXPECT_EQ(to_text(*graph).find("Identity"), std::string::npos);
  EXPECT_NE(to_text(*graph).find("Dropout"), std::string::npos);
}

TEST(Pipeline, ErrorsNameThePass) {
  const auto graph = test::graph_of(kPipelineModel);
  PassContext context = test::summing_context();
  context.evaluate = [](const Graph&) -> std::vector<ValueRef> {
    throw Error(Code::kOutOfMemory, "no memory");
  };
  test::expect_error(Code::kOutOfMemory, {"constant_folding", "no memory"},
                     [&] { run_passes(*graph, context); });
}

TEST(Pipeline, NamesAreUniqueAndBenefitsGiven) {
  std::set<std::string> names;
  for (const Pass& pass : passes()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_GT(std::string(pass.benefit).size(), 10u);
  }
}

}  // namespace
}  // namespace gantry
