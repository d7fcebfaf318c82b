// SPDX-License-Identifier: Apache-2.0
// Captures: kernels that follow each other on a device are recorded and launched as one, with the
// same results, and not where that would be wrong.
#include <thread>

#include "sim_runtime.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

using test::expect_close;
using test::numbers;
using test::placed;
using test::SimRuntime;

// Four kernels, one stretch.
const char* const kFour =
    "g (float[n,4] x) => (float[n,4] y) <float[4] w = {1, -2, 3, 0.5}> {"
    "  a = Mul(x, w) b = Relu(a) c = Add(b, x) y = Sub(c, w) }";

class Captured {
 public:
  explicit Captured(const std::string& options, const std::string& model = kFour,
                    const std::string& config = placed({}))
      : sim_(options), session_(sim_.session(model, config)), cpu_(sim_.on_cpu(model)) {}

  void run(int64_t rows, uint32_t times = 1) {
    for (uint32_t i = 0; i < times; ++i) {
      const Inputs inputs = {{"x", numbers({rows, 4}, ++seed_)}};
      expect_close(session_.run(inputs), cpu_.run(inputs));
    }
  }
  sim::Journal& journal() { return sim_.journal(); }
  Session other() { return sim_.session(kFour, placed({})); }

 private:
  SimRuntime sim_;
  Session session_;
  Session cpu_;
  uint32_t seed_ = 0;
};

TEST(Capture, IsLaunchedAfterAWarmUp) {
  Captured captured(R"({"jitter_us": 100})");
  captured.run(2, 2);  // the run that is recorded for its memory, and the first with the plan
  EXPECT_EQ(captured.journal().captures, 0U);
  EXPECT_EQ(captured.journal().kernel_calls, 8U);
  captured.run(2, 5);
  EXPECT_EQ(captured.journal().captures, 1U);
  EXPECT_EQ(captured.journal().launches, 5U);
  EXPECT_EQ(captured.journal().kernel_calls, 12U) << "the last calls were those that were recorded";
  EXPECT_EQ(captured.journal().kernels, 28U) << "each run executed all of them";
}

TEST(Capture, CanBeSwitchedOff) {
  Captured by_session("{}", kFour, placed({}, {{"capture", false}}));
  by_session.run(2, 5);
  EXPECT_EQ(by_session.journal().captures, 0U);
  EXPECT_EQ(by_session.journal().kernel_calls, 20U);
  Captured by_device(R"({"capture": false})");
  by_device.run(2, 5);
  EXPECT_EQ(by_device.journal().captures, 0U);
  EXPECT_EQ(by_device.journal().kernel_calls, 20U);
}

TEST(Capture, LeavesOutKernelsThatAreUnsafe) {
  const std::string model =
      "g (float[n,4] x) => (float[n,4] y) { a = Relu(x) b = Add(a, x) c = Mul(b, a) d = Relu(c)"
      "  y = Sub(d, x) }";
  Captured captured(R"({"no_capture": ["Mul"]})", model);
  captured.run(3, 6);
  EXPECT_EQ(captured.journal().captures, 2U) << "before the Mul and after it";
  EXPECT_EQ(captured.journal().launches, 8U);
  EXPECT_EQ(captured.journal().kernel_calls, 6 + 3 * 4U) << "the Mul is called in every run";
  Captured apart(R"({"no_capture": ["Mul"]})",
                 "g (float[n,4] x) => (float[n,4] y) { a = Relu(x) b = Mul(a, x) y = Add(b, a) }");
  apart.run(3, 6);
  EXPECT_EQ(apart.journal().captures, 0U) << "one kernel alone gains nothing";
}

TEST(Capture, BelongsToAShapeAndToTheMemoryItWasRecordedIn) {
  Captured captured("{}");
  captured.run(2, 5);
  EXPECT_EQ(captured.journal().captures, 1U);
  // Another session's memory lies behind the arena, so that it has to move to grow.
  Session other = captured.other();
  other.run({{"x", numbers({1, 4})}});
  other.run({{"x", numbers({1, 4})}});
  captured.run(64, 5);
  EXPECT_EQ(captured.journal().captures, 2U);
  captured.run(2, 5);
  EXPECT_EQ(captured.journal().captures, 3U) << "the addresses of the first are gone";
  EXPECT_EQ(captured.journal().captures_alive, 2U);
  const uint64_t launches = captured.journal().launches;
  for (int i = 0; i < 4; ++i) {
    captured.run(64);
    captured.run(2);
  }
  EXPECT_EQ(captured.journal().captures, 3U) << "both are still good";
  EXPECT_EQ(captured.journal().launches, launches + 8);
}

TEST(Capture, StopsAtWhatTheHostTakesPartIn) {
  // The Tanh on the CPU parts the kernels; those of SIM:1 are a stretch of their own.
  const std::string model =
      "g (float[n,4] x) => (float[n,4] y) { a = Relu(x) b = Mul(a, a) c = Tanh(b) d = Relu(c)"
      "  e = Mul(d, c) [there] f = Relu(e) [there_too] y = Mul(f, f) }";
  Captured captured(R"({"jitter_us": 100})", model, placed({{"there*", "SIM:1"}}));
  captured.run(2, 5);
  EXPECT_EQ(captured.journal().captures, 3U);
  EXPECT_EQ(captured.journal().launches, 9U);
}

TEST(Capture, IsRecordedAnewAfterAFailedRun) {
  Captured captured(R"({"faults": {"run": 20}})");
  captured.run(2, 4);
  test::expect_error(Code::kDeviceError, {"the fault \"run\""}, [&] { captured.run(2); });
  captured.run(2, 5);
  EXPECT_EQ(captured.journal().captures, 2U);
  EXPECT_EQ(captured.journal().captures_alive, 1U);
}

TEST(Capture, BelongsToOneContext) {
  SimRuntime sim(R"({"latency_us": 0, "jitter_us": 300})");
  const sim::Journal& journal = sim.journal();
  {
    Session session = sim.session(kFour, placed({}));
    Session cpu = sim.on_cpu(kFour);
    std::vector<std::thread> threads;
    threads.reserve(3);
    for (uint32_t i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        for (uint32_t run = 0; run < 12; ++run) {
          const Inputs inputs = {{"x", numbers({2 + run % 2, 4}, i * 100 + run)}};
          expect_close(session.run(inputs), cpu.run(inputs));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(journal.launches, 0U);
  }
  EXPECT_EQ(journal.captures_alive, 0U);
}

}  // namespace
}  // namespace gantry
