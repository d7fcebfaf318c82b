// SPDX-License-Identifier: Apache-2.0
#include "worker/claims.h"

#include <algorithm>
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
  }

  static std::unique_ptr<Graph> graph() {
    auto made = std::make_unique<Graph>();
    Graph& graph = *made;
    GraphValue* x = graph.add_value("x", {Kind::kTensor, DType::kFloat, false, {}, {}});
    graph.inputs = {x};
    GraphValue* c0 = graph.add_constant("c0", make_tensor(DType::kFloat, {1}));
    GraphValue* a = add(graph, "a", {x, c0});
    GraphValue* b = add(graph, "b", {a});
    GraphValue* c = add(graph, "c", {b});
    GraphValue* e = add(graph, "e", {a});
    graph.set_outputs({add(graph, "d", {c, e})});
    graph.renumber();
    return made;
  }

  static GraphValue* add(Graph& graph, const std::string& name,
                         const std::vector<GraphValue*>& inputs) {
    Node* node = graph.add_node("Op", "", 1, name);
    for (GraphValue* input : inputs) graph.add_input(node, input);
    GraphValue* output = graph.add_value(name + "_out", inputs.front()->type);
    graph.add_output(node, output);
    return output;
  }

  // The nodes of a request by their names, as a set has fewer.
  static void claim_names(const gantry_claim_request& request,
                          const std::vector<std::string>& names) {
    std::vector<uint32_t> nodes;
    for (uint32_t node = 0; node < request.graph->node_count; ++node) {
      const gantry_str name = request.graph->nodes[node]->name;
      const bool is_wanted =
          std::find(names.begin(), names.end(), std::string(name.data, name.length)) != names.end();
      if (is_wanted) nodes.push_back(node);
    }
    if (nodes.size() == names.size()) claim(request, nodes);
  }

  static constexpr uint32_t kA = 0, kB = 1, kC = 2, kE = 3, kD = 4;

  WorkerClaims answer() { return answer_claims(graph, candidate_); }

  ProviderRegistry registry_;
  Candidate candidate_;
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
    for (const char* name : {"a", "c", "e", "d"}) claim_names(request, {name});
    if (request.graph->node_count == 5)
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
    claim_names(request, {"a", "e"});
    claim_names(request, {"c", "d"});
    claim_names(request, {"c"});
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

TEST_F(WorkerClaimsTest, RefusesWhatIsTakenOnlyBesideOthers) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    bool has_b = false;
    for (uint32_t node = 0; node < request.graph->node_count; ++node)
      has_b = has_b || std::string(request.graph->nodes[node]->name.data, 1) == "b";
    claim_names(request, {"a"});
    claim_names(request, {"e"});
    if (has_b) claim_names(request, {"c"});
  };
  const WorkerClaims claims = answer();
  ASSERT_EQ(claims.sets.size(), 2U);
  EXPECT_THAT(claims.sets[0].nodes, ElementsAre(kA, kE));
  EXPECT_THAT(claims.sets[1].nodes, ElementsAre(kA, kE));
  EXPECT_EQ(claims.refusals.size(), 3U);
}

}  // namespace
}  // namespace gantry
