// SPDX-License-Identifier: Apache-2.0
#include "worker/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "plugin/registry.h"
#include "support/scripted_provider.h"

namespace gantry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class WorkerClaimsTest : public testing::Test {
 protected:
  // A chain a, b, c, d, and e that reads a and feeds d; constants c0 and c1 feed a and d.
  WorkerClaimsTest() : registry_({}, SearchEnvironment{}) {
    candidate_ = ScriptedProvider::candidates(registry_, {"AAA:0"}).front();
    GraphValue* x = graph_.add_value("x", {Kind::kTensor, DType::kFloat, false, {}, {}});
    graph_.inputs = {x};
    GraphValue* a = add("a", {x, graph_.add_constant("c0", make_tensor(DType::kFloat, {1}))});
    GraphValue* b = add("b", {a});
    GraphValue* c = add("c", {b});
    GraphValue* e = add("e", {a});
    graph_.outputs = {add("d", {c, e})};
    graph_.renumber();
  }

  GraphValue* add(const std::string& name, const std::vector<GraphValue*>& inputs) {
    Node* node = graph_.add_node("Op", "", 1, name);
    for (GraphValue* input : inputs) graph_.add_input(node, input);
    GraphValue* output = graph_.add_value(name + "_out", inputs.front()->type);
    graph_.add_output(node, output);
    return output;
  }

  static constexpr uint32_t kA = 0, kB = 1, kC = 2, kE = 3, kD = 4;

  WorkerClaims answer() { return answer_claims(graph_, candidate_); }

  ProviderRegistry registry_;
  Candidate candidate_;
  Graph graph_;
};

TEST_F(WorkerClaimsTest, GathersSingleKernels) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    for (const uint32_t node : {kA, kB, kC, kE, kD}) {
      claim_row(request,
                {.nodes = {node},
                 .time_ns = 5,
                 .input_flags = node == kA ? std::vector<uint32_t>{GANTRY_PORT_SIGNATURE, 0}
                                           : std::vector<uint32_t>{}});
    }
  };
  const WorkerClaims claims = answer();
  ASSERT_EQ(claims.sets.size(), 2U);
  EXPECT_THAT(claims.sets[0].nodes, ElementsAre(kA, kB, kC, kE, kD));
  EXPECT_EQ(claims.sets[0].is_divisible, 0);
  EXPECT_THAT(claims.sets[0].input_flags,
              ElementsAre(GANTRY_PORT_SIGNATURE, GANTRY_PORT_COMPILE_ONLY | GANTRY_PORT_UNALIGNED));
  EXPECT_EQ(claims.sets[0].output_count, 1U);
  EXPECT_EQ(claims.sets[0].time_ns, 25);
  EXPECT_THAT(claims.sets[1].nodes, ElementsAre(kA, kB, kC, kE, kD));
  EXPECT_EQ(claims.sets[1].is_divisible, 1);
  EXPECT_TRUE(claims.refusals.empty());
}

TEST_F(WorkerClaimsTest, PartsWhereAWayLeadsOutAndBack) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    for (const uint32_t node : {kA, kC, kE, kD}) claim(request, {node});
    request.sink->refuse(request.sink->self, kB, {"no b here", 9});
  };
  const WorkerClaims claims = answer();
  ASSERT_EQ(claims.sets.size(), 3U);
  EXPECT_THAT(claims.sets[0].nodes, ElementsAre(kA, kE));
  EXPECT_THAT(claims.sets[1].nodes, ElementsAre(kC, kD));
  EXPECT_EQ(claims.sets[2].is_divisible, 1);
  ASSERT_EQ(claims.refusals.size(), 1U);
  EXPECT_EQ(claims.refusals[0].node, kB);
  EXPECT_EQ(claims.refusals[0].reason, "no b here");
}

TEST_F(WorkerClaimsTest, KeepsFusedNodesTogether) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    claim(request, {kA, kE});
    claim(request, {kC, kD});
    claim(request, {kC});
  };
  const WorkerClaims claims = answer();
  // {a, e} is on both sides of b, which nobody takes; d reads e, so both sets are one level apart.
  ASSERT_EQ(claims.sets.size(), 5U);
  EXPECT_THAT(claims.sets[0].nodes, ElementsAre(kA, kE));
  EXPECT_THAT(claims.sets[1].nodes, ElementsAre(kC, kD));
  EXPECT_THAT(claims.sets[2].nodes, ElementsAre(kC));
  EXPECT_EQ(claims.sets[2].is_divisible, 1) << "d alone is not taken, so it is no part of this";
  EXPECT_THAT(claims.sets[3].nodes, ElementsAre(kA, kE));
  EXPECT_THAT(claims.sets[4].nodes, ElementsAre(kC, kD));
}

}  // namespace
}  // namespace gantry
