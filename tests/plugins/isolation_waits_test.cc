// SPDX-License-Identifier: Apache-2.0
// Runs and loads that wait for a process of a provider end by their own deadlines, and what they
// waited for goes on. The process waits at a gate, which is opened once they have ended.
#include <gantry/gantry.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gate.h"
#include "isolated_runtime.h"
#include "relu_runs.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

using nlohmann::json;
using test::expect_good;
using test::Gate;
using test::input;
using test::IsolatedRuntime;
using test::kRelu;

TEST(IsolationWaits, ADeadlineOfTheRunStopsTheKernelOrEndsTheProcess) {
  IsolatedRuntime runtime(json{{"stop_grace_ms", 200}});
  Session session = runtime.session(kRelu, "FAKE");
  expect_good(session);
  const int64_t first = runtime.worker();
  RunOptions options;
  options.timeout_ns = 50'000'000;
  test::expect_error(Code::kDeadlineExceeded, {}, [&] { session.run(input(-8), options); });
  expect_good(session);
  EXPECT_EQ(runtime.worker(), first) << "a kernel that gives up in time keeps its process";
  test::expect_error(Code::kDeadlineExceeded, {"was ended"},
                     [&] { session.run(input(-3), options); });
  expect_good(session);
  EXPECT_NE(runtime.worker(), first);
}

// Runs with a little time, while their provider's process waits in its start or a compilation, end,
// and what was begun goes on. More often than crashes would put it in quarantine.
void expect_short_waits(Session& session, const Gate& gate, const std::string& what) {
  RunOptions options;
  options.timeout_ns = 50'000'000;
  for (int run = 0; run < 4; ++run) {
    test::expect_error(Code::kDeadlineExceeded, {"crashing", what, "goes on for the next one"},
                       [&] { session.run(input(1), options); });
  }
  const std::atomic<bool> is_cancelled = true;
  options = {.cancel = &is_cancelled, .timeout_ns = {}};
  test::expect_error(Code::kCancelled, {}, [&] { session.run(input(1), options); });
  gate.open();
  expect_good(session);
}

TEST(IsolationWaits, ADeadlineOfARunEndsTheWaitForANewProcessAndNotItsStart) {
  const Gate gate;
  gate.open();
  IsolatedRuntime runtime(json::object(), gate.options("start_waits"));
  Session session = runtime.session(kRelu, "FAKE");
  expect_good(session);
  gate.close();
  test::expect_error(Code::kProviderCrashed, {}, [&] { session.run(input(-1)); });
  expect_short_waits(session, gate, "the start of its process");
}

TEST(IsolationWaits, ADeadlineOfARunEndsTheWaitForACompilationAndNotTheCompilation) {
  const Gate gate;
  gate.open();
  IsolatedRuntime runtime;
  Session session = runtime.session(kRelu, "FAKE", gate.config("compile_waits"));
  expect_good(session);
  gate.close();
  test::expect_error(Code::kProviderCrashed, {}, [&] { session.run(input(-1)); });
  expect_short_waits(session, gate, "the compilation of Relu \"r\"");
}

TEST(IsolationWaits, ClosingDoesNotWaitForACompilationThatGoesOn) {
  const Gate gate;
  gate.open();
  IsolatedRuntime runtime;
  std::optional<Session> session = runtime.session(kRelu, "FAKE", gate.config("compile_waits"));
  gate.close();
  test::expect_error(Code::kProviderCrashed, {}, [&] { session->run(input(-1)); });
  RunOptions options;
  options.timeout_ns = 50'000'000;
  test::expect_error(Code::kDeadlineExceeded, {"the compilation of Relu"},
                     [&] { session->run(input(1), options); });
  testing::internal::CaptureStderr();
  session.reset();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the process gave up waiting";
  gate.open();
  Session other = runtime.session(kRelu, "FAKE");
  expect_good(other);
}

// A load of kRelu that has little time ends, with the code for that.
void expect_short_load(Runtime& runtime, Code code, const std::vector<std::string>& parts,
                       const SessionOptions& options) {
  const std::string bytes = test::model_bytes(kRelu);
  test::expect_error(code, parts, [&] { Session(runtime, {test::as_bytes(bytes), {}}, options); });
}

// More often than ends of its process would put the provider in quarantine.
TEST(IsolationWaits, LoadingEndsByItsTimeoutWhileTheFirstProcessStarts) {
  const Gate gate;
  IsolatedRuntime runtime(json::object(), gate.options("start_waits"));
  SessionOptions options;
  options.device = "FAKE";
  options.timeout_ns = 300'000'000;
  for (int load = 0; load < 4; ++load) {
    expect_short_load(*runtime.operator->(), Code::kDeadlineExceeded,
                      {"\"crashing\", open", "did not end within", "its process was ended"},
                      options);
  }
  const std::atomic<bool> is_cancelled = true;
  options = {.device = "FAKE", .cancel = &is_cancelled};
  expect_short_load(*runtime.operator->(), Code::kCancelled, {}, options);
  gate.open();
  Session session = runtime.session(kRelu, "FAKE");
  expect_good(session);
}

// One without a timeout, which starts the process, and others of the same and of another runtime.
TEST(IsolationWaits, LoadingEndsByItsTimeoutWhileAnotherLoadStartsTheProcess) {
  const Gate gate;
  IsolatedRuntime runtime(json::object(), gate.options("start_waits"));
  const std::unique_ptr<Runtime> other = runtime.another();
  std::thread patient([&] {
    Session session = runtime.session(kRelu, "FAKE");
    expect_good(session);
  });
  SessionOptions options;
  options.device = "FAKE";
  options.timeout_ns = 300'000'000;
  for (Runtime* each : {runtime.operator->(), other.get()})
    expect_short_load(*each, Code::kDeadlineExceeded, {}, options);
  gate.open();
  patient.join();
}

TEST(IsolationWaits, LoadingEndsByItsTimeoutWhileAProcessCompiles) {
  const Gate gate;
  IsolatedRuntime runtime;
  const std::string bytes = test::model_bytes(kRelu);
  SessionOptions options;
  options.device = "FAKE";
  options.timeout_ns = 300'000'000;
  expect_good(*std::make_unique<Session>(runtime.session(kRelu, "FAKE")));
  for (int load = 0; load < 4; ++load) {
    options.config_json = gate.config("compile_waits").dump();
    test::expect_error(Code::kDeadlineExceeded, {}, [&] {
      Session(*runtime.operator->(), {test::as_bytes(bytes), {}}, options);
    });
    Session session = runtime.session(kRelu, "FAKE");
    expect_good(session);
  }
}

}  // namespace
}  // namespace gantry
