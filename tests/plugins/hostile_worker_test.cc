// SPDX-License-Identifier: Apache-2.0
// Worker processes that answer nonsense: each answer is one error with a sentence that names the
// provider and what was wrong, memory that was not given for it is never read, and nothing is left
// behind.
#include <atomic>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "left_behind.h"
#include "placement/placement.h"
#include "plugin/graph_view.h"
#include "plugin/isolation/isolated_provider.h"
#include "provider_folder.h"
#include "run/executor.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

TypeInfo vector_of_floats() { return {Kind::kTensor, DType::kFloat, true, {-1}, {"n"}}; }

std::string options_of(const std::string& mode) { return nlohmann::json{{"mode", mode}}.dump(); }

// A graph of one Relu, run by a worker whose answers are wrong as `mode` says.
class HostileRun {
 public:
  /// `limit_ms`: of the call that the mode names; 0: long.
  explicit HostileRun(const std::string& mode, int64_t limit_ms = 0) {
    folder_.add("crashing", "crashing", nlohmann::json{{"options", {{"type", "object"}}}});
    SearchEnvironment environment = folder_.environment();
    environment.worker_program = GANTRY_HOSTILE_WORKER;
    ProviderSettings settings;
    settings.isolated["crashing"] = true;
    settings.options["crashing"] = options_of(mode);
    const auto limit_of = [&](std::string_view call, std::string_view other) {
      const bool is_limited = limit_ms > 0 && (mode.ends_with(call) || mode.ends_with(other));
      return is_limited ? limit_ms : int64_t{20000};
    };
    IsolationSettings limits;
    limits.start_timeout_ms = limit_of(".open", ".release");
    limits.compile_timeout_ms = limit_of(".claim", ".compile");
    limits.run_timeout_ms = limit_of(".run", ".run");
    limits.stop_grace_ms = 100;
    settings.workers["crashing"] = limits;
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
    // Written, since a run may read small inputs to know its memory plan.
    std::memset(inputs[0]->view.data, 0, 600 * sizeof(float));
    std::vector<ValueRef> outputs(1);
    for (int run = 0; run < 2; ++run) executor.run(inputs, outputs, {});
  }

 private:
  test::ProviderFolder folder_;
  std::unique_ptr<ProviderRegistry> registry_;
};

TEST(HostileWorker, IsWellWithoutAMode) { HostileRun("none")(); }

struct Forgery {
  const char* mode;
  Code code;
  std::vector<std::string> parts;
  int64_t limit_ms = 0;
};

std::ostream& operator<<(std::ostream& out, const Forgery& forgery) { return out << forgery.mode; }

std::string name_of(const testing::TestParamInfo<Forgery>& info) {
  std::string name = info.param.mode;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

class HostileAnswer : public testing::TestWithParam<Forgery> {};

TEST_P(HostileAnswer, IsAnErrorWithASentence) {
  const Forgery& forgery = GetParam();
  const test::LeftBehind left;
  {
    HostileRun run(forgery.mode, forgery.limit_ms);
    std::vector<std::string> parts = forgery.parts;
    // What a kernel does wrong is told of its node.
    parts.emplace_back(forgery.code == Code::kInvalidArgument ? "Relu \"r\"" : "crashing");
    test::expect_error(forgery.code, parts, run);
  }
  left.expect_nothing();
}

constexpr Code kCrashed = Code::kProviderCrashed;
constexpr Code kRefused = Code::kUnsupported;
constexpr Code kClosed = Code::kUnavailable;

// What the structs of answers say.
INSTANTIATE_TEST_SUITE_P(
    Content, HostileAnswer,
    testing::Values(
        Forgery{"device_count", kClosed, {"open", "malformed answer", "cut short"}},
        Forgery{"long_claim", kRefused, {"claim", "sent an answer of more than 671", "the most"}},
        Forgery{"claim_node", kRefused, {"not claimed"}},
        Forgery{"claim_nothing", kRefused, {"not claimed"}}, Forgery{"claim_twice", kRefused, {""}},
        Forgery{"claim_time", kRefused, {"not claimed"}},
        Forgery{"claim_slots", kRefused, {"9 input slots"}},
        Forgery{"input_slot", kCrashed, {"malformed answer", "names input slot 7, which is not"}},
        Forgery{"output_slot", kCrashed, {"malformed answer", "names output slot 7, which is not"}},
        Forgery{"input_twice", kCrashed, {"compilation of", "names input slot 0 twice"}},
        Forgery{"output_twice", kCrashed, {"compilation of", "names output slot 0 twice"}},
        Forgery{"silent_end", kCrashed, {"run of", "status 5"}},
        Forgery{"unknown_code", kCrashed, {"run of", "its code is 4711, which is none"}},
        Forgery{"long_text", kCrashed, {"cut short: expected 18446744073709551615 more bytes"}},
        Forgery{"empty_answer", kCrashed, {"cut short: expected 4 more bytes, found 0"}},
        Forgery{"more_bytes.open", kClosed, {"malformed answer: 8 bytes more than it says"}},
        Forgery{"more_bytes.claim", kRefused, {"malformed answer: 8 bytes more than it says"}},
        Forgery{"more_bytes.compile", kCrashed, {"malformed answer: 8 bytes more than it says"}},
        Forgery{"more_bytes.run", kCrashed, {"malformed answer: 8 bytes more than it says"}},
        Forgery{"output_count", kCrashed, {"run of Relu \"r\"", "expected 1 outputs, found 2"}},
        Forgery{"beyond_arena", kCrashed, {"2400 bytes lies outside of the memory for it"}},
        Forgery{"overflow", kCrashed, {"lies outside of the memory for it"}},
        Forgery{"others_memory", kCrashed, {"lies outside of the memory for it"}},
        Forgery{"end_of_window", kCrashed, {"lies outside of the memory for it"}},
        Forgery{"unaligned", kCrashed, {"not aligned for"}},
        Forgery{"huge_shape", kCrashed, {"lies outside of the memory for it"}},
        Forgery{"negative_shape", kCrashed, {"below 0"}},
        Forgery{"dtype", Code::kInvalidArgument, {"the model says"}},
        Forgery{"rank", Code::kInvalidArgument, {"the model says"}}),
    name_of);

// What carries the answers.
INSTANTIATE_TEST_SUITE_P(
    Transport, HostileAnswer,
    testing::Values(
        Forgery{"twice.open", kRefused, {"claim", "an answer to call 1 where that to call 2"}},
        Forgery{"twice.claim", kCrashed, {"an answer to call 2 where that to call 3"}},
        Forgery{"twice.compile", kCrashed, {"run of", "sent an answer to call"}},
        Forgery{"twice.run", kCrashed, {"run of", "sent an answer to call", "was expected"}},
        Forgery{"other_number.open", kClosed, {"open", "an answer to call 2 where that to call 1"}},
        Forgery{"other_number.run", kCrashed, {"run of", "an answer to call", "was expected"}},
        Forgery{"short_head.run", kCrashed, {"run of", "of 3 bytes, which is shorter than its"}},
        Forgery{"short_head.claim", kRefused, {"claim", "of 3 bytes, which is shorter than its"}},
        Forgery{"announces_alone.run", kCrashed, {"an answer that it announced and did not send"}},
        Forgery{"short_socket_head.run", kCrashed, {"of 5 bytes, which is shorter than its head"}},
        Forgery{"inline_length.compile", kCrashed, {"that says it has 77 bytes and has 0"}},
        Forgery{"no_file.run", kCrashed, {"1048576 bytes in memory whose descriptor did not come"}},
        Forgery{"sparse_file.run", kCrashed, {"1073741824 bytes in memory of which 0 bytes are"}},
        Forgery{"short_file.run", kCrashed, {"1048576 bytes in memory that has 3 bytes"}},
        Forgery{"device_file.run", kCrashed, {"in a file that is no anonymous memory"}},
        Forgery{"closes_answers.open", kClosed, {"open", "because it closed its channel in a"}},
        Forgery{"closes_answers.claim", kRefused, {"claim", "because it closed its channel in a"}},
        Forgery{"closes_answers.run", kCrashed, {"run of", "because it closed its channel in a"}}),
    name_of);

// Ends and silence in each call.
INSTANTIATE_TEST_SUITE_P(
    Ends, HostileAnswer,
    testing::Values(
        Forgery{"exits.open", kClosed, {"open", "ended by itself with status 6"}},
        Forgery{"exits.claim", kRefused, {"claim", "ended by itself with status 6"}},
        Forgery{"exits.compile", kCrashed, {"compilation of", "ended by itself with status 6"}},
        Forgery{"exits.run", kCrashed, {"run of", "ended by itself with status 6"}},
        Forgery{"ends_itself.open", kClosed, {"open", "ended by signal 9"}},
        Forgery{"ends_itself.claim", kRefused, {"claim", "ended by signal 9"}},
        Forgery{"ends_itself.compile", kCrashed, {"compilation of", "ended by signal 9"}},
        Forgery{"ends_itself.run", kCrashed, {"run of", "ended by signal 9"}},
        Forgery{"is_silent.open", kClosed, {"open", "a call did not end within"}, 300},
        Forgery{"is_silent.claim", kRefused, {"claim", "a call did not end within"}, 300},
        Forgery{"is_silent.compile", Code::kDeadlineExceeded, {"compilation of"}, 300},
        Forgery{"is_silent.run", Code::kDeadlineExceeded, {"run of", "told to stop"}, 300},
        Forgery{"stops.run", Code::kDeadlineExceeded, {"run of", "told to stop"}, 300}),
    name_of);

// What is odd and no error: the run ends well, and nothing is left of it.
class HostileEnd : public testing::TestWithParam<const char*> {};

TEST_P(HostileEnd, HarmsNobody) {
  const test::LeftBehind left;
  {
    HostileRun run(GetParam(), 300);
    run();
  }
  left.expect_nothing();
}

INSTANTIATE_TEST_SUITE_P(Modes, HostileEnd,
                         testing::Values("descriptors.open", "descriptors.run", "refuse_node",
                                         "claim_outputs", "claim_numbers", "exits.release",
                                         "is_silent.release", "twice.release", "short_head.release",
                                         "exits.destroy", "twice.destroy", "short_head.destroy",
                                         "closes_answers.destroy"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

// A worker without a provider before it, so that calls of any kind can be made.
class HostileProcess {
 public:
  explicit HostileProcess(const std::string& mode) {
    IsolationSettings settings;
    settings.worker = GANTRY_HOSTILE_WORKER;
    process_ = WorkerProcess::start("hostile", settings);
    MessageWriter open;
    open.put(WorkerCall::kOpen);
    WorkerOpen subject;
    subject.options = options_of(mode);
    subject.write(open);
    process_->call(open, {}, {});
  }
  /// `began`: set once the call waits for its answer.
  void call(WorkerCall call, int64_t timeout_ms, std::atomic<int>* began = nullptr) {
    MessageWriter request;
    request.put(call);
    WorkerProcess::Patience patience;
    patience.timeout_ms = timeout_ms;
    bool has_begun = false;
    patience.should_stop = [&] {
      if (began && !std::exchange(has_begun, true)) ++*began;
      return Code::kOk;
    };
    process_->call(request, {}, patience);
  }

 private:
  std::shared_ptr<WorkerProcess> process_;
};

TEST(HostileWorker, ThatReadsNoNewChannelIsEndedByTheTimeoutOfACall) {
  const test::LeftBehind left;
  {
    HostileProcess process("is_silent.release");
    std::atomic<int> began = 0;
    std::thread first([&] {
      test::expect_error(kCrashed, {"it did not read a call within"},
                         [&] { process.call(WorkerCall::kRelease, 0, &began); });
    });
    while (began == 0) std::this_thread::yield();
    test::expect_error(Code::kDeadlineExceeded,
                       {"it did not read a call within", "its process was ended"},
                       [&] { process.call(WorkerCall::kClaim, 200); });
    first.join();
  }
  left.expect_nothing();
}

// As many as the kernel keeps for who does not read, and more: none waits for room.
TEST(HostileWorker, ThatReadsNoNewChannelHoldsUpNoCall) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit raised = {before.rlim_max, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &raised), 0);
  {
    HostileProcess process("is_silent.release");
    constexpr int kCalls = 320;
    std::vector<std::thread> threads;
    threads.reserve(kCalls);
    std::atomic<int> failed = 0;
    for (int i = 0; i < kCalls; ++i) {
      threads.emplace_back([&] {
        try {
          process.call(WorkerCall::kRelease, 0);
        } catch (const Error&) {
          ++failed;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failed, kCalls);
  }
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace gantry
