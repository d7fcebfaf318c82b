// SPDX-License-Identifier: Apache-2.0
#include "schedule/placement.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "plugin/host.h"
#include "plugin/registry.h"

namespace gantry {
namespace {

using testing::HasSubstr;

// A provider for the types AAA and BBB whose claims are what the test says; compiles nothing.
struct Scripted {
  static inline std::function<void(const gantry_claim_request&)> claims;

  static gantry_error* enter(const gantry_offer*, gantry_accept* accept) {
    static const gantry_provider_api api = [] {
      gantry_provider_api table = {};
      table.size = sizeof(table);
      table.devices = [](gantry_provider*, const gantry_device_sink* sink) -> gantry_error* {
        for (const char* type : {"AAA", "BBB"}) {
          gantry_device_info info = {};
          info.size = sizeof(info);
          info.type = {type, 3};
          info.flags = GANTRY_DEVICE_HOST_MEMORY;
          sink->device(sink->self, &info);
        }
        return nullptr;
      };
      table.claim = [](gantry_provider*, const gantry_claim_request* request) -> gantry_error* {
        claims(*request);
        return nullptr;
      };
      table.compile = [](gantry_provider*, const gantry_compile*, gantry_kernel*) -> gantry_error* {
        return host_table().error_create(GANTRY_UNSUPPORTED, {});
      };
      table.destroy = [](gantry_provider*) {};
      return table;
    }();
    accept->layout = GANTRY_ABI_LAYOUT;
    accept->api = &api;
    return nullptr;
  }
};

void claim(const gantry_claim_request& request, const std::vector<uint32_t>& nodes,
           uint32_t flags = 0) {
  gantry_claim row = {};
  row.size = sizeof(row);
  row.flags = flags;
  row.nodes = nodes.data();
  row.node_count = static_cast<uint32_t>(nodes.size());
  row.port_size = sizeof(gantry_port);
  row.kernel = {"scripted", 8};
  request.sink->claim(request.sink->self, &row);
}

class PlacementTest : public testing::Test {
 protected:
  // a -> b -> c -> d in a chain, and e that reads a and feeds d.
  PlacementTest() : registry_({}, SearchEnvironment{}) {
    registry_.add(Scripted::enter,
                  R"({"manifest_version": 1, "name": "scripted", "version": "1.0.0",
                                       "abi": {"major": 1, "minor": 0}, "devices": ["AAA", "BBB"]})");
    for (const char* type : {"AAA", "BBB"}) {
      const DeviceProvider found = registry_.find(Device{type, 0}).front();
      candidates_.push_back({found.provider, found.device_index, Device{type, 0}});
    }
    TypeInfo type;
    type.kind = Kind::kTensor;
    type.dtype = DType::kFloat;
    GraphValue* x = graph_.add_value("x", type);
    graph_.inputs = {x};
    GraphValue* a = add("a", {x});
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

  std::vector<NodePlacement> place_now(const std::vector<NodeRule>& rules = {}) {
    placement_ = place(graph_, candidates_, rules);
    std::vector<NodePlacement> rows;
    describe(*placement_, "", rows);
    return rows;
  }

  ProviderRegistry registry_;
  std::vector<Candidate> candidates_;
  Graph graph_;
  std::unique_ptr<GraphPlacement> placement_;
};

TEST_F(PlacementTest, PreferenceOrderDecides) {
  Scripted::claims = [](const gantry_claim_request& request) {
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

TEST_F(PlacementTest, BadRowsAreDroppedOneByOne) {
  Scripted::claims = [](const gantry_claim_request& request) {
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
  Scripted::claims = [](const gantry_claim_request& request) {
    // the way from a to d leads through b, c and e
    if (request.device == 0) claim(request, {kA, kD});
    if (request.device == 1) claim(request, {kA, kB, kC, kD, kE});
  };
  const auto rows = place_now();
  for (const NodePlacement& row : rows) EXPECT_EQ(row.device, "BBB:0") << row.node;
  EXPECT_THAT(rows[kA].reason, HasSubstr("cycle"));
}

TEST_F(PlacementTest, TwoSetsThatWouldWaitForEachOtherAreNotBothTaken) {
  Scripted::claims = [](const gantry_claim_request& request) {
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
  Scripted::claims = [](const gantry_claim_request& request) {
    if (request.device != 0) return;
    claim(request, {kB});
    claim(request, {kA, kB, kC, kD, kE}, GANTRY_CLAIM_DIVISIBLE);
  };
  place_now();
  EXPECT_TRUE(placement_->complete());
  EXPECT_EQ(placement_->claims.size(), 5U);
}

TEST_F(PlacementTest, RulesOutrankPreference) {
  Scripted::claims = [](const gantry_claim_request& request) {
    for (const uint32_t node : {kA, kB, kC, kD, kE}) claim(request, {node});
  };
  const auto rows =
      place_now({{[](const Node& node) { return node.name == "c"; }, Device{"BBB", 0}}});
  EXPECT_EQ(rows[kB].device, "AAA:0");
  EXPECT_EQ(rows[kC].device, "BBB:0");
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
