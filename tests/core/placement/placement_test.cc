// SPDX-License-Identifier: Apache-2.0
#include "placement/placement.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "plugin/registry.h"
#include "support/scripted_provider.h"

namespace gantry {
namespace {

using testing::HasSubstr;

class PlacementTest : public testing::Test {
 protected:
  // a -> b -> c -> d in a chain, and e that reads a and feeds d.
  PlacementTest() : registry_({}, SearchEnvironment{}) {
    candidates_ = ScriptedProvider::candidates(registry_, {"AAA:0", "BBB:0"});
    TypeInfo type;
    type.kind = Kind::kTensor;
    type.dtype = DType::kFloat;
    GraphValue* x = graph_.add_value("x", type);
    graph_.inputs = {x};
    GraphValue* a = add("a", {x});
    GraphValue* b = add("b", {a});
    GraphValue* c = add("c", {b});
    GraphValue* e = add("e", {a});
    graph_.set_outputs({add("d", {c, e})});
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

  std::vector<NodePlacement> place_now(const std::vector<NodeRule>& rules = {}) {
    placement_ = place(graph_, candidates_, {.rules = rules});
    return describe(*placement_).nodes;
  }

  ProviderRegistry registry_;
  std::vector<Candidate> candidates_;
  Graph graph_;
  std::unique_ptr<GraphPlacement> placement_;
};

TEST_F(PlacementTest, PreferenceOrderDecides) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    if (request.device == 0) {
      claim(request, {kA});
      request.sink->refuse(request.sink->self, kB, {"too warm", 8});
    } else {
      for (const uint32_t node : {kA, kB, kC, kD, kE}) claim(request, {node});
    }
  };
  const auto rows = place_now();
  EXPECT_EQ(rows[kA].device, "AAA:0");
  EXPECT_EQ(rows[kB].device, "BBB:0");
  EXPECT_THAT(rows[kB].reason, HasSubstr("too warm"));
  EXPECT_THAT(rows[kC].reason, HasSubstr("no reason was given"));
  EXPECT_TRUE(placement_->complete());
}

// A reason may have the name of another candidate in it, as "SIM:10" has that of SIM:1.
TEST_F(PlacementTest, EveryCandidateIsNamedThatLeftANodeOut) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    constexpr std::string_view kReason = "better on scripted on BBB:0";
    if (request.device == 0)
      request.sink->refuse(request.sink->self, kB, {kReason.data(), kReason.size()});
  };
  EXPECT_THAT(place_now()[kB].reason,
              HasSubstr("; scripted on BBB:0: not claimed, and no reason was given"));
}

TEST_F(PlacementTest, BadRowsAreDroppedOneByOne) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    if (request.device != 0) return;
    claim(request, {99});
    claim(request, {kA, kA});
    claim(request, {});
    claim(request, {kA, kB});
    claim(request, {kB, kC});  // overlaps the one before
    claim(request, {kD});
  };
  const auto rows = place_now();
  EXPECT_EQ(rows[kA].device, "AAA:0");
  EXPECT_EQ(rows[kB].device, "AAA:0");
  EXPECT_EQ(rows[kC].device, "");
  EXPECT_THAT(rows[kC].reason, HasSubstr("another claim has one of its nodes"));
  EXPECT_EQ(rows[kD].device, "AAA:0");
  EXPECT_FALSE(placement_->complete());
  EXPECT_EQ(placement_->claims.size(), 2U);
}

TEST_F(PlacementTest, ASetThatWouldCloseACycleIsDropped) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    // the way from a to d leads through b, c and e
    if (request.device == 0) claim(request, {kA, kD});
    if (request.device == 1) claim(request, {kA, kB, kC, kD, kE});
  };
  const auto rows = place_now();
  for (const NodePlacement& row : rows) EXPECT_EQ(row.device, "BBB:0") << row.node;
  EXPECT_THAT(rows[kA].reason, HasSubstr("cycle"));
}

TEST_F(PlacementTest, TwoSetsThatWouldWaitForEachOtherAreNotBothTaken) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    if (request.device != 0) return;
    claim(request, {kB, kD});  // needs c outside: a cycle by itself
    claim(request, {kC, kE});  // fine: b before, d after
    for (const uint32_t node : {kA, kB, kD}) claim(request, {node});
  };
  place_now();
  EXPECT_TRUE(placement_->complete());
  EXPECT_EQ(placement_->claims.size(), 4U);
}

TEST_F(PlacementTest, DivisibleRowsAreSplitInstead) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    if (request.device != 0) return;
    claim(request, {kB});
    claim(request, {kA, kB, kC, kD, kE}, GANTRY_CLAIM_DIVISIBLE);
  };
  place_now();
  EXPECT_TRUE(placement_->complete());
  // b by itself; around it a and e, which come before, and c and d, which come after
  EXPECT_EQ(placement_->claims.size(), 3U);
  EXPECT_EQ(placement_->owner[kA], placement_->owner[kE]);
  EXPECT_EQ(placement_->owner[kC], placement_->owner[kD]);
}

TEST_F(PlacementTest, DivisibleRowsAreSplitAroundWhatOthersTookAsOneStep) {
  // p and q are one step of another provider, so what feeds q comes before it, and what reads p
  // after it.
  Graph graph;
  GraphValue* x = graph.add_value("x", {Kind::kTensor, DType::kFloat, false, {}, {}});
  graph.inputs = {x};
  const auto op = [&](const std::string& name, const std::vector<GraphValue*>& inputs) {
    Node* node = graph.add_node("Op", "", 1, name);
    for (GraphValue* input : inputs) graph.add_input(node, input);
    graph.add_output(node, graph.add_value(name + "_out", x->type));
    return node->outputs[0];
  };
  GraphValue* p = op("p", {x});
  GraphValue* after1 = op("after1", {p});
  GraphValue* after2 = op("after2", {p});
  GraphValue* before1 = op("before1", {x});
  GraphValue* before2 = op("before2", {x});
  graph.set_outputs({after1, after2, op("q", {before1, before2})});
  graph.renumber();
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    if (request.device == 0) claim(request, {0, 5});
    if (request.device == 1) claim(request, {1, 2, 3, 4}, GANTRY_CLAIM_DIVISIBLE);
  };
  const auto placement = place(graph, candidates_, {});
  EXPECT_TRUE(placement->complete());
  ASSERT_EQ(placement->claims.size(), 3U);
  EXPECT_EQ(placement->owner[1], placement->owner[2]);
  EXPECT_EQ(placement->owner[3], placement->owner[4]);
}

TEST_F(PlacementTest, ADivisibleRowLosesWhatARuleTakes) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    claim(request, {kA, kB, kC, kD, kE}, GANTRY_CLAIM_DIVISIBLE);
  };
  const auto rows =
      place_now({{[](const Node& node) { return node.name == "c"; }, Device{"BBB", 0}}});
  EXPECT_EQ(rows[kC].device, "BBB:0");
  EXPECT_EQ(rows[kD].device, "AAA:0");
  EXPECT_EQ(placement_->claims.size(), 3U);
}

TEST_F(PlacementTest, ARowWhoseTimeIsNoNumberIsDropped) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    const bool is_first = request.device == 0;
    for (const uint32_t node : {kA, kB, kC, kD, kE})
      claim_row(request, {.nodes = {node}, .time_ns = is_first && node == kB ? NAN : 5.0});
  };
  const auto rows = place_now();
  EXPECT_EQ(rows[kA].device, "AAA:0");
  EXPECT_EQ(rows[kB].device, "BBB:0");
}

TEST_F(PlacementTest, RulesOutrankPreference) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    for (const uint32_t node : {kA, kB, kC, kD, kE}) claim(request, {node});
  };
  const auto rows =
      place_now({{[](const Node& node) { return node.name == "c"; }, Device{"BBB", 0}}});
  EXPECT_EQ(rows[kB].device, "AAA:0");
  EXPECT_EQ(rows[kC].device, "BBB:0");
}

TEST_F(PlacementTest, WhatARuleSendsElsewhereIsNotPassedOver) {
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    if (request.device == 0) {
      claim(request, {kB, kC});  // a set, of which the rule takes one
      for (const uint32_t node : {kA, kE}) claim(request, {node});
    } else {
      for (const uint32_t node : {kA, kB, kC, kD, kE}) claim(request, {node});
    }
  };
  const auto rows =
      place_now({{[](const Node& node) { return node.name == "c"; }, Device{"BBB", 0}}});
  EXPECT_EQ(rows[kC].device, "BBB:0");
  EXPECT_EQ(rows[kC].instead_of, "") << "it is where it was sent";
  EXPECT_EQ(rows[kB].device, "BBB:0");
  EXPECT_EQ(rows[kB].instead_of, "AAA:0");
  EXPECT_THAT(rows[kB].reason,
              HasSubstr("a placement rule sends Op \"c\", one of its nodes, to BBB:0"));
  EXPECT_EQ(rows[kD].instead_of, "AAA:0");
}

TEST_F(PlacementTest, SlotsFollowTheRuleOfTheHeader) {
  std::vector<Node*> nodes;
  for (const uint32_t node : {kB, kC}) nodes.push_back(graph_.nodes()[node].get());
  const ClaimSlots slots = slots_of(nodes);
  ASSERT_EQ(slots.inputs.size(), 1U);
  EXPECT_EQ(slots.inputs[0]->name, "a_out");
  ASSERT_EQ(slots.outputs.size(), 1U);
  EXPECT_EQ(slots.outputs[0]->name, "c_out");
}

}  // namespace
}  // namespace gantry
