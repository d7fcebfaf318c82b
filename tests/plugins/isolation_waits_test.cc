// SPDX-License-Identifier: Apache-2.0
// Runs and loads that wait for a process of a provider end by their own deadlines, and what they
// waited for goes on.
#include <gantry/gantry.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "isolated_runtime.h"
#include "relu_runs.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using test::expect_good;
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

// A run with a little time, when its provider's process starts or compiles for five seconds: ends
// in time, and what was begun goes on. More often than crashes would put it in quarantine.
void expect_short_waits(Session& session, const std::string& what) {
  RunOptions options;
  options.timeout_ns = 50'000'000;
  for (int run = 0; run < 4; ++run) {
    const Clock::time_point start = Clock::now();
    test::expect_error(Code::kDeadlineExceeded, {"crashing", what, "goes on for the next one"},
                       [&] { session.run(input(1), options); });
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(4));
  }
  const std::atomic<bool> is_cancelled = true;
  options = {.cancel = &is_cancelled, .timeout_ns = {}};
  test::expect_error(Code::kCancelled, {}, [&] { session.run(input(1), options); });
  expect_good(session);
}

TEST(IsolationWaits, ADeadlineOfARunEndsTheWaitForANewProcessAndNotItsStart) {
  IsolatedRuntime runtime(json::object(), {{"mode", "start_is_slow"}});
  Session session = runtime.session(kRelu, "FAKE");
  expect_good(session);
  test::expect_error(Code::kProviderCrashed, {}, [&] { session.run(input(-1)); });
  expect_short_waits(session, "the start of its process");
}

TEST(IsolationWaits, ADeadlineOfARunEndsTheWaitForACompilationAndNotTheCompilation) {
  IsolatedRuntime runtime;
  Session session = runtime.session(kRelu, "FAKE", runtime.mode("compile_is_slow"));
  expect_good(session);
  test::expect_error(Code::kProviderCrashed, {}, [&] { session.run(input(-1)); });
  test::expect_error(Code::kProviderCrashed, {}, [&] { session.run(input(-1)); });
  expect_short_waits(session, "the compilation of Relu \"r\"");
}

TEST(IsolationWaits, ClosingDoesNotWaitForACompilationThatGoesOn) {
  IsolatedRuntime runtime;
  std::optional<Session> session = runtime.session(kRelu, "FAKE", runtime.mode("compile_is_slow"));
  test::expect_error(Code::kProviderCrashed, {}, [&] { session->run(input(-1)); });
  RunOptions options;
  options.timeout_ns = 50'000'000;
  test::expect_error(Code::kDeadlineExceeded, {"the compilation of Relu"},
                     [&] { session->run(input(1), options); });
  const Clock::time_point start = Clock::now();
  session.reset();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(4));
  Session other = runtime.session(kRelu, "FAKE");
  expect_good(other);
}

// A load of kRelu that has little time ends in time, with the code for that.
void expect_short_load(Runtime& runtime, Code code, const std::vector<std::string>& parts,
                       const SessionOptions& options) {
  const std::string bytes = test::model_bytes(kRelu);
  const Clock::time_point start = Clock::now();
  test::expect_error(code, parts, [&] { Session(runtime, {test::as_bytes(bytes), {}}, options); });
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(4));
}

// More often than ends of its process would put the provider in quarantine.
TEST(IsolationWaits, LoadingEndsByItsTimeoutWhileTheFirstProcessStarts) {
  IsolatedRuntime runtime(json::object(), {{"mode", "start_is_slow"}});
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
  Session session = runtime.session(kRelu, "FAKE");
  expect_good(session);
}

// One without a timeout, which starts the process, and others of the same and of another runtime.
TEST(IsolationWaits, LoadingEndsByItsTimeoutWhileAnotherLoadStartsTheProcess) {
  IsolatedRuntime runtime(json::object(), {{"mode", "start_is_slow"}});
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
  patient.join();
}

TEST(IsolationWaits, LoadingEndsByItsTimeoutWhileAProcessCompiles) {
  IsolatedRuntime runtime;
  const std::string bytes = test::model_bytes(kRelu);
  SessionOptions options;
  options.device = "FAKE";
  options.timeout_ns = 1'000'000'000;
  expect_good(*std::make_unique<Session>(runtime.session(kRelu, "FAKE")));
  for (int load = 0; load < 4; ++load) {
    options.config_json = runtime.mode("compile_is_slow").dump();
    const Clock::time_point start = Clock::now();
    test::expect_error(Code::kDeadlineExceeded, {}, [&] {
      Session(*runtime.operator->(), {test::as_bytes(bytes), {}}, options);
    });
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(4));
    Session session = runtime.session(kRelu, "FAKE");
    expect_good(session);
  }
}

}  // namespace
}  // namespace gantry
