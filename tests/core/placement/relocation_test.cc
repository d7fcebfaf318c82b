// SPDX-License-Identifier: Apache-2.0
#include "placement/relocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "placement/placement.h"
#include "placement/transfers.h"
#include "plugin/registry.h"
#include "support/scripted_provider.h"

namespace gantry {
namespace {

using testing::HasSubstr;

TypeInfo tensor(DType dtype, std::vector<int64_t> shape) {
  TypeInfo type;
  type.kind = Kind::kTensor;
  type.dtype = dtype;
  type.has_rank = true;
  type.symbols.resize(shape.size());
  type.shape = std::move(shape);
  return type;
}

constexpr uint32_t kHostDevice = 0;  // AAA:0, as the provider enumerates it

class RelocationTest : public testing::Test {
 protected:
  RelocationTest() : registry_({}, SearchEnvironment{}) {
    candidates_ = ScriptedProvider::candidates(registry_, {"DDD:0", "AAA:0"});
  }

  GraphValue* add(const std::string& name, const std::vector<GraphValue*>& inputs, TypeInfo type) {
    Node* node = graph_.add_node("Op", "", 1, name);
    for (GraphValue* input : inputs) graph_.add_input(node, input);
    GraphValue* output = graph_.add_value(name + "_out", std::move(type));
    graph_.add_output(node, output);
    return output;
  }

  std::vector<NodePlacement> place_now(const PlacementPolicy& policy = {}) {
    graph_.renumber();
    placement_ = place(graph_, candidates_, policy);
    return describe(*placement_).nodes;
  }

  ProviderRegistry registry_;
  std::vector<Candidate> candidates_;
  Graph graph_;
  std::unique_ptr<GraphPlacement> placement_;
};

// work -> shape -> pick -> reshape, which also reads what work made.
class ShapeArithmeticTest : public RelocationTest {
 protected:
  ShapeArithmeticTest() {
    GraphValue* x = graph_.add_value("x", tensor(DType::kFloat, {-1, 1000}));
    graph_.inputs = {x};
    work_ = add("work", {x}, tensor(DType::kFloat, {-1, 1000}));
    GraphValue* shape = add("shape", {work_}, tensor(DType::kInt64, {2}));
    picked_ = add("pick", {shape}, tensor(DType::kInt64, {1}));
    graph_.set_outputs({add("reshape", {work_, picked_}, tensor(DType::kFloat, {-1}))});
    ScriptedProvider::claims = [](const gantry_claim_request& request) {
      const bool on_host = request.device == kHostDevice;
      for (uint32_t node = 0; node < request.graph->node_count; ++node) {
        ScriptedRow row{.nodes = {node}};
        if (node == 1) row.input_flags = {on_host ? uint32_t{GANTRY_PORT_SHAPE_ONLY} : 0U};
        if (node == 3) row.input_flags = {0, GANTRY_PORT_HOST | GANTRY_PORT_SIGNATURE};
        claim_row(request, row);
      }
    };
  }

  GraphValue* work_ = nullptr;
  GraphValue* picked_ = nullptr;
};

TEST_F(ShapeArithmeticTest, GoesToTheHost) {
  const auto rows = place_now();
  EXPECT_EQ(rows[0].device, "DDD:0");
  EXPECT_EQ(rows[1].device, "AAA:0");
  EXPECT_EQ(rows[2].device, "AAA:0");
  EXPECT_EQ(rows[3].device, "DDD:0");
  EXPECT_THAT(rows[1].reason, HasSubstr("integers that the host reads"));
  EXPECT_EQ(transfers_of(*placement_, false).size(), 2U);  // the input and the output
}

TEST_F(ShapeArithmeticTest, StaysWhereARuleSendsIt) {
  PlacementPolicy policy;
  policy.rules = {{[](const Node& node) { return node.name == "pick"; }, Device{"DDD", 0}}};
  EXPECT_EQ(place_now(policy)[2].device, "DDD:0");
}

TEST_F(ShapeArithmeticTest, StaysWhenTheDeviceReadsItToo) {
  graph_.set_outputs(
      {graph_.outputs().front(), add("more", {picked_}, tensor(DType::kFloat, {1}))});
  const auto rows = place_now();
  EXPECT_EQ(rows[1].device, "DDD:0");
  EXPECT_EQ(rows[2].device, "DDD:0");
}

TEST_F(ShapeArithmeticTest, StaysWhenItWouldFetchMuch) {
  // No longer shape arithmetic: the host's kernel reads the elements themselves.
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    for (uint32_t node = 0; node < 4; ++node) {
      ScriptedRow row{.nodes = {node}};
      if (node == 3) row.input_flags = {0, GANTRY_PORT_HOST};
      claim_row(request, row);
    }
  };
  const auto rows = place_now();
  EXPECT_EQ(rows[1].device, "DDD:0");
  EXPECT_EQ(rows[2].device, "AAA:0");  // a copy of two integers instead of one
}

// first -> second -> third, 4 floats each; the host takes all of them, the device not the second.
class CostTest : public RelocationTest {
 protected:
  CostTest() {
    GraphValue* value = graph_.add_value("x", tensor(DType::kFloat, {4}));
    graph_.inputs = {value};
    for (const char* name : {"first", "second", "third"})
      value = add(name, {value}, tensor(DType::kFloat, {4}));
    graph_.set_outputs({value});
  }

  // The devices of the nodes when each takes that long on the device and on the host.
  std::vector<std::string> devices_when(double device_ns, double host_ns, bool cost_model = true) {
    ScriptedProvider::claims = [=](const gantry_claim_request& request) {
      const bool on_host = request.device == kHostDevice;
      for (const uint32_t node : {0U, 1U, 2U}) {
        if (!on_host && node == 1) continue;
        claim_row(request, {.nodes = {node}, .time_ns = on_host ? host_ns : device_ns});
      }
    };
    std::vector<std::string> devices;
    for (const NodePlacement& row : place_now({.cost_model = cost_model}))
      devices.push_back(row.device);
    return devices;
  }
};

using testing::ElementsAre;

TEST_F(CostTest, SmallWorkIsNotWorthItsCopies) {
  EXPECT_THAT(devices_when(1'000, 2'000), ElementsAre("AAA:0", "AAA:0", "AAA:0"));
  EXPECT_THAT(placement_->reasons[0], HasSubstr("estimated"));
}

TEST_F(CostTest, MuchWorkIs) {
  EXPECT_THAT(devices_when(1'000, 200'000), ElementsAre("DDD:0", "AAA:0", "DDD:0"));
}

TEST_F(CostTest, UnknownTimesMoveNothing) {
  EXPECT_THAT(devices_when(-1, 2'000), ElementsAre("DDD:0", "AAA:0", "DDD:0"));
  EXPECT_THAT(devices_when(1'000, -1), ElementsAre("DDD:0", "AAA:0", "DDD:0"));
}

TEST_F(CostTest, NothingMovesUnlessAskedFor) {
  EXPECT_THAT(devices_when(1'000, 2'000, false), ElementsAre("DDD:0", "AAA:0", "DDD:0"));
}

TEST_F(CostTest, TransfersGoThroughTheHost) {
  candidates_.insert(candidates_.begin() + 1,
                     {candidates_[0].provider, 3, Device{"DDD", 1}});  // DDD:1, index 3
  ScriptedProvider::claims = [](const gantry_claim_request& request) {
    if (request.device == 2) claim(request, {0});
    if (request.device == 3) claim(request, {1});
    if (request.device == kHostDevice) claim(request, {2});
  };
  place_now();
  std::vector<std::string> ways;
  for (const Transfer& transfer : transfers_of(*placement_, false)) {
    ways.push_back(transfer.value->name + " " + transfer.from.to_string() + " " +
                   transfer.to.to_string());
  }
  EXPECT_THAT(ways,
              testing::UnorderedElementsAre("x CPU:0 DDD:0", "first_out DDD:0 CPU:0",
                                            "first_out CPU:0 DDD:1", "second_out DDD:1 CPU:0"));
}

}  // namespace
}  // namespace gantry
