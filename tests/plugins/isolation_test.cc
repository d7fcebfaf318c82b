// SPDX-License-Identifier: Apache-2.0
// Providers in processes of their own: the same results as in this one, and whatever such a process
// does wrong, this one and its other sessions go on.
#include <gantry/gantry.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "isolated_runtime.h"
#include "relu_runs.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

using nlohmann::json;
using test::expect_good;
using test::input;
using test::IsolatedRuntime;
using test::kRelu;
using test::numbers_of;
using testing::HasSubstr;

// A session on the CPU of this process that runs all the while, each result compared.
class Bystander {
 public:
  explicit Bystander(IsolatedRuntime& runtime)
      : session_(runtime.session("g (float[64] x) => (float[64] y) { a = Relu(x) y = Add(a, x) }",
                                 "CPU")),
        thread_([this] { run(); }) {}
  ~Bystander() {
    is_over_ = true;
    thread_.join();
    EXPECT_GT(runs_, 0);
    EXPECT_EQ(wrong_, 0);
  }

 private:
  void run() {
    while (!is_over_) {
      const auto first = static_cast<float>(runs_ % 7) - 3;
      Tensor x({64}, std::vector<float>(64, first));
      const std::vector<Tensor> y = session_.run({{"x", x}});
      const float expected = first + std::max(first, 0.0F);
      for (const float element : y[0].elements<float>()) wrong_ += element == expected ? 0 : 1;
      ++runs_;
    }
  }

  Session session_;
  std::atomic<bool> is_over_ = false;
  int runs_ = 0;
  int wrong_ = 0;
  std::thread thread_;
};

// The simulated accelerator in a process of its own, where its memory is.
class IsolatedSim {
 public:
  explicit IsolatedSim(const json& options, const json& limits = json::object())
      : library_(
            folder_.copy(std::string(GANTRY_PROVIDERS) + "/libgantry_sim.so", "libgantry_sim.so")),
        manifest_(folder_.copy(std::string(GANTRY_PROVIDERS) + "/sim.json", "sim.json")),
        runtime_({json{{"providers",
                        {{"search", {folder_.path()}},
                         {"isolation", {{"sim", "process"}}},
                         {"worker", {{"sim", limits}}},
                         {"options", {{"sim", options}}}}}}
                      .dump()}) {}

  Session session() {
    const std::string bytes = test::model_bytes(kRelu);
    return {runtime_, {test::as_bytes(bytes), {}}, {.device = "SIM:0"}};
  }

 private:
  test::TempFolder folder_;
  std::string library_;
  std::string manifest_;
  Runtime runtime_;
};

TEST(Isolation, RunsInAProcessOfItsOwn) {
  IsolatedRuntime runtime;
  Session session = runtime.session(kRelu, "FAKE");
  for (const size_t count : {6, 6, 1, 100000, 6, 3000000}) expect_good(session, count);
  EXPECT_NE(runtime.worker(), 0);
  const std::vector<ProviderReport> rows = runtime->report();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [](const ProviderReport& r) { return r.name == "crashing"; });
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(row->isolation, "process");
}

TEST(Isolation, OutputsOutliveTheirRunAndTheirSession) {
  IsolatedRuntime runtime;
  std::vector<Tensor> kept;
  {
    Session session = runtime.session(kRelu, "FAKE");
    for (int run = 1; run <= 4; ++run) {
      kept.push_back(session.run(input(static_cast<float>(run), 200000))[0]);
    }
  }
  for (int run = 1; run <= 4; ++run) {
    EXPECT_EQ(kept[static_cast<size_t>(run - 1)].elements<float>()[0], static_cast<float>(run));
    EXPECT_EQ(kept[static_cast<size_t>(run - 1)].elements<float>()[199999], 2);
  }
}

TEST(Isolation, BoundOutputsAreFilled) {
  IsolatedRuntime runtime;
  Session session = runtime.session(kRelu, "FAKE");
  for (const int64_t count : {8, 300000}) {
    Tensor x({count}, std::vector<float>(static_cast<size_t>(count), 3));
    Tensor y(DType::kFloat, {count});
    Binding binding(session);
    binding.input("x", x);
    binding.output("y", y);
    binding.run();
    EXPECT_EQ(numbers_of(y), numbers_of(x));
  }
}

TEST(Isolation, RunsOfOneSessionOverlap) {
  IsolatedRuntime runtime;
  Session session = runtime.session(kRelu, "FAKE");
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&session, i] {
      for (int run = 0; run < 50; ++run)
        expect_good(session, i % 2 == 0 ? 10 : 150000 + static_cast<size_t>(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct Fault {
  const char* name;
  float first;
  Code code;
  std::vector<std::string> parts;
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) { return out << fault.name; }

class IsolatedFault : public testing::TestWithParam<Fault> {};

TEST_P(IsolatedFault, EndsItsRunAndNothingElse) {
  const Fault& fault = GetParam();
  const std::string name = fault.name;
  if (GANTRY_SANITIZER != 0 && (name == "memory" || name == "heap"))
    GTEST_SKIP() << "a sanitizer finds it first, and needs more memory itself";
  json limits = {{"run_timeout_ms", 600}, {"stop_grace_ms", 100}};
  // Not with a sanitizer, whose own memory counts too.
  if (GANTRY_SANITIZER == 0) limits["memory_limit_bytes"] = 192 << 20;
  IsolatedRuntime runtime(limits);
  const Bystander bystander(runtime);
  Session session = runtime.session(kRelu, "FAKE");
  expect_good(session);
  const int64_t first = runtime.worker();
  std::vector<std::string> parts = fault.parts;
  parts.insert(parts.end(), {"\"crashing\"", "Relu \"r\""});
  test::expect_error(fault.code, parts, [&] { session.run(input(fault.first)); });
  expect_good(session);
  EXPECT_NE(runtime.worker(), first);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, IsolatedFault,
    testing::Values(Fault{"segfault", -1, Code::kProviderCrashed, {"signal 11", "run of"}},
                    Fault{"abort", -2, Code::kProviderCrashed, {"signal 6"}},
                    Fault{"hang",
                          -3,
                          Code::kDeadlineExceeded,
                          {"did not end within", "after it was told to stop", "was ended"}},
                    Fault{"memory", -4, Code::kProviderCrashed, {"signal 11"}},
                    Fault{"past_output", -5, Code::kProviderCrashed, {"signal 11"}},
                    Fault{"heap", -6, Code::kProviderCrashed, {"signal 6"}},
                    Fault{"leaves_child", -11, Code::kProviderCrashed, {"signal 11"}},
                    Fault{"exits", -7, Code::kProviderCrashed, {"by itself with status 0"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Isolation, ACrashNamesItsNode) {
  IsolatedRuntime runtime;
  Session session = runtime.session(
      "g (float[n] x) => (float[n] y) { [first] a = Relu(x) [second] y = Relu(a) }", "FAKE");
  expect_good(session);
  test::expect_error(Code::kProviderCrashed, {"signal 11", "1 more nodes", "at Relu \"second\""},
                     [&] { session.run(input(-10)); });
  test::expect_error(Code::kProviderCrashed, {"signal 11", "at Relu \"first\""},
                     [&] { session.run(input(-1)); });
}

TEST(Isolation, AnotherRunInFlightIsToldOfTheCrash) {
  IsolatedRuntime runtime(json{{"run_timeout_ms", 20000}, {"stop_grace_ms", 0}});
  Session hanging = runtime.session(kRelu, "FAKE");
  Session crashing = runtime.session(kRelu, "FAKE");
  expect_good(hanging);
  expect_good(crashing);
  std::thread other([&] {
    test::expect_error(Code::kProviderCrashed, {"signal 11"}, [&] { hanging.run(input(-3)); });
  });
  // Nothing tells that the first has begun; on a busy machine that takes a while.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  test::expect_error(Code::kProviderCrashed, {"signal 11"}, [&] { crashing.run(input(-1)); });
  other.join();
  expect_good(hanging);
  expect_good(crashing);
  EXPECT_EQ(runtime->devices().back().state, "ready") << "one process ended, not two";
}

TEST(Isolation, ThreeCrashesAreQuarantine) {
  IsolatedRuntime runtime;
  Session session = runtime.session(kRelu, "FAKE");
  for (int crash = 0; crash < 3; ++crash) {
    EXPECT_EQ(runtime->supports_device("FAKE"), true);
    test::expect_error(Code::kProviderCrashed, {crash < 2 ? "starts another" : "quarantine"},
                       [&] { session.run(input(-1)); });
  }
  test::expect_error(Code::kUnavailable, {"quarantine", "3 times", "signal 11"},
                     [&] { session.run(input(1)); });
  EXPECT_FALSE(runtime->supports_device("FAKE"));
  test::expect_error(Code::kUnavailable, {"blocked", "3 times"},
                     [&] { runtime.session(kRelu, "FAKE"); });
  Session fallen_back = runtime.session(
      kRelu, "", {{"placement", {{"prefer", {"FAKE", "CPU"}}, {"fallback", "allow"}}}});
  EXPECT_EQ(fallen_back.placement().nodes[0].provider, "cpu");
  expect_good(fallen_back);
}

// What ThreadSanitizer is to see: runtimes take part in the provider while it starts again.
TEST(Isolation, OtherRuntimesOpenItWhileItStartsAgain) {
  IsolatedRuntime runtime;
  Session session = runtime.session(kRelu, "FAKE");
  std::atomic<bool> is_over = false;
  std::thread others([&] {
    while (!is_over) EXPECT_TRUE(runtime.another()->supports_device("FAKE"));
  });
  for (int crash = 0; crash < 2; ++crash) {
    test::expect_error(Code::kProviderCrashed, {}, [&] { session.run(input(-1)); });
    expect_good(session);
  }
  is_over = true;
  others.join();
}

TEST(Isolation, ACrashInClaimIsARefusal) {
  IsolatedRuntime runtime;
  test::expect_error(Code::kUnsupported, {"signal 11", "claim"},
                     [&] { runtime.session(kRelu, "FAKE", runtime.mode("claim_crashes")); });
}

TEST(Isolation, ACrashOrHangInCompileFallsBackByPolicy) {
  IsolatedRuntime runtime(json{{"compile_timeout_ms", 400}});
  test::expect_error(Code::kProviderCrashed, {"signal 11", "compilation of Relu \"r\""},
                     [&] { runtime.session(kRelu, "FAKE", runtime.mode("compile_crashes")); });
  json config = runtime.mode("compile_hangs");
  config["placement"] = {{"prefer", {"FAKE", "CPU"}}, {"fallback", "allow"}};
  Session session = runtime.session(kRelu, "", config);
  EXPECT_EQ(session.placement().nodes[0].provider, "cpu");
  EXPECT_THAT(session.placement().nodes[0].reason, HasSubstr("did not end within"));
  expect_good(session);
}

TEST(Isolation, ACrashAtTheStartIsTheProvidersRow) {
  IsolatedRuntime runtime(json::object(), {{"mode", "start_crashes"}});
  test::expect_error(Code::kUnavailable, {"signal 11", "open"},
                     [&] { runtime.session(kRelu, "FAKE"); });
}

// A device that is lost, or does not come to rest, is good again in the next process.
TEST(Isolation, ALostDeviceIsFoundAgain) {
  IsolatedSim sim(json{{"faults", {{"device", 0}, {"device_lost", 2}}}});
  Session session = sim.session();
  const Tensor x({6}, std::vector<float>(6, 2));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(numbers_of(session.run({{"x", x}})[0]), std::vector<float>(6, 2));
    test::expect_error(Code::kDeviceLost, {"lost", "its process was ended"}, [&] {
      session.run({{"x", x}});
    });
  }
}

TEST(Isolation, ADeviceThatHangsIsGoodInTheNextProcess) {
  IsolatedSim sim(json{{"faults", {{"device", 0}, {"hang", 2}}}}, json{{"stop_grace_ms", 200}});
  Session session = sim.session();
  const Tensor x({6}, std::vector<float>(6, 2));
  RunOptions options;
  options.timeout_ns = 30'000'000;
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(numbers_of(session.run({{"x", x}})[0]), std::vector<float>(6, 2));
    test::expect_error(Code::kDeadlineExceeded, {"its process was ended"}, [&] {
      session.run({{"x", x}}, options);
    });
  }
}

TEST(Isolation, WithoutItsProgramNothingIsOpened) {
  const test::ProviderFolder folder;
  folder.add("crashing", "crashing");
  SearchEnvironment environment = folder.environment();
  environment.worker_program = folder.path("gantry-worker");
  ProviderSettings settings;
  settings.isolated["crashing"] = true;
  const auto registry = folder.registry(environment, settings);
  test::expect_error(Code::kUnavailable, {folder.path("gantry-worker"), "is not there"}, [&] {
    registry->find({"FAKE", 0});
  });
}

TEST(Isolation, OneThatEndsWhileItIsOpenedPromisesNoOther) {
  const test::ProviderFolder folder;
  folder.add("crash_entry", "x");
  SearchEnvironment environment = folder.environment();
  environment.worker_program = SearchEnvironment::of_process().worker_program;
  ProviderSettings settings;
  settings.isolated["x"] = true;
  const ProviderReport row = folder.registry(environment, settings)->report(true)[0];
  EXPECT_EQ(row.state, "rejected");
  EXPECT_THAT(row.message, HasSubstr("was ended by signal"));
  EXPECT_TRUE(row.message.ends_with("in its open")) << row.message;
}

TEST(Isolation, TheEnvironmentAsksForItAndThePolicyForcesIt) {
  const test::ProviderFolder folder;
  folder.add("crashing", "crashing");
  const auto isolation = [&](const SearchEnvironment& environment, ProviderSettings settings) {
    return folder.registry(environment, std::move(settings))->report(false).front().isolation;
  };
  SearchEnvironment environment = folder.environment();
  ProviderSettings settings;
  EXPECT_EQ(isolation(environment, settings), "");
  settings.isolated["crashing"] = true;
  EXPECT_EQ(isolation(environment, settings), "process");
  environment.all_isolated = false;
  EXPECT_EQ(isolation(environment, settings), "");
  environment.isolated["crashing"] = true;
  EXPECT_EQ(isolation(environment, settings), "process");
  environment.isolated["crashing"] = false;
  EXPECT_EQ(isolation(environment, settings), "");
  environment.policy_file = folder.write("policy", R"({"force_isolation": ["crash*"]})");
  EXPECT_EQ(isolation(environment, settings), "process");
}

}  // namespace
}  // namespace gantry
