// SPDX-License-Identifier: Apache-2.0
// Worker processes that answer nonsense: each answer is one error with a sentence, and memory that
// was not given for it is never read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "placement/placement.h"
#include "plugin/graph_view.h"
#include "plugin/isolation/isolated_provider.h"
#include "provider_folder.h"
#include "run/executor.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

TypeInfo vector_of_floats() { return {Kind::kTensor, DType::kFloat, true, {-1}, {"n"}}; }

// A graph of one Relu, run by a worker whose answers are wrong as `mode` says.
class HostileRun {
 public:
  explicit HostileRun(const std::string& mode) {
    folder_.add("crashing", "crashing", nlohmann::json{{"options", {{"type", "object"}}}});
    SearchEnvironment environment = folder_.environment();
    environment.worker_program = GANTRY_HOSTILE_WORKER;
    ProviderSettings settings;
    settings.isolated["crashing"] = true;
    settings.options["crashing"] = nlohmann::json{{"mode", mode}}.dump();
    registry_ = folder_.registry(environment, settings);
  }

  void operator()() {
    const std::vector<DeviceProvider> found = registry_->find({"FAKE", 0});
    Graph graph;
    GraphValue* x = graph.add_value("x", vector_of_floats());
    Node* node = graph.add_node("Relu", "", 14, "r");
    graph.add_input(node, x);
    GraphValue* y = graph.add_value("y", vector_of_floats());
    graph.add_output(node, y);
    graph.inputs = {x};
    graph.set_outputs({y});
    graph.renumber();
    std::vector<Candidate> candidates(1);
    candidates[0].provider = found[0].provider;
    candidates[0].device = Device::parse("FAKE");
    const auto placement = place(graph, candidates, {});
    if (!placement->complete()) throw Error(Code::kUnsupported, placement->reasons[0]);
    auto devices = std::make_shared<DeviceTable>();
    auto program = std::make_unique<Program>(*placement, *devices,
                                             std::vector<std::vector<DeviceProvider>>{found},
                                             BuildOptions{.threads = 1});
    Executor executor(std::move(program), std::move(devices), 1, nullptr, {});
    const std::vector<ValueRef> inputs = {make_tensor(DType::kFloat, {600})};
    std::vector<ValueRef> outputs(1);
    executor.run(inputs, outputs, {});
  }

 private:
  test::ProviderFolder folder_;
  std::unique_ptr<ProviderRegistry> registry_;
};

TEST(HostileWorker, IsWellWithoutAMode) { HostileRun("none")(); }

struct Forgery {
  const char* mode;
  Code code;
  const char* part;
};

std::ostream& operator<<(std::ostream& out, const Forgery& forgery) { return out << forgery.mode; }

class HostileAnswer : public testing::TestWithParam<Forgery> {};

TEST_P(HostileAnswer, IsAnErrorWithASentence) {
  const Forgery& forgery = GetParam();
  HostileRun run(forgery.mode);
  test::expect_error(forgery.code, {forgery.part}, run);
}

INSTANTIATE_TEST_SUITE_P(
    Answers, HostileAnswer,
    testing::Values(Forgery{"device_count", Code::kUnavailable, "cut short"},
                    Forgery{"long_claim", Code::kUnsupported, "it sent an answer of more than 671"},
                    Forgery{"claim_node", Code::kUnsupported, "not claimed"},
                    Forgery{"claim_slots", Code::kUnsupported, "9 input slots"},
                    Forgery{"input_slot", Code::kInternal, "slot 7"},
                    Forgery{"output_slot", Code::kInternal, "slot 7"},
                    Forgery{"silent_end", Code::kProviderCrashed, "status 5"},
                    Forgery{"unknown_code", Code::kInternal, "what is this"},
                    Forgery{"empty_answer", Code::kInternal, "cut short"},
                    Forgery{"output_count", Code::kInternal, "2 outputs"},
                    Forgery{"beyond_arena", Code::kInternal, "not its own"},
                    Forgery{"overflow", Code::kInternal, "not its own"},
                    Forgery{"others_memory", Code::kInternal, "not its own"},
                    Forgery{"end_of_window", Code::kInternal, "not its own"},
                    Forgery{"unaligned", Code::kInternal, "not aligned"},
                    Forgery{"huge_shape", Code::kInternal, "not its own"},
                    Forgery{"negative_shape", Code::kInternal, "below 0"},
                    Forgery{"dtype", Code::kInvalidArgument, "the model says"},
                    Forgery{"rank", Code::kInvalidArgument, "the model says"}),
    [](const auto& info) { return std::string(info.param.mode); });

}  // namespace
}  // namespace gantry
