// SPDX-License-Identifier: Apache-2.0
// What goes wrong on a device ends in one clear error, and everything else goes on: memory that
// runs out, work that fails late, devices that are lost or hang, claims that cannot be compiled.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "sim_runtime.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

using test::expect_close;
using test::expect_error;
using test::numbers;
using test::placed;
using test::SimRuntime;
using Clock = std::chrono::steady_clock;

// 1 KiB for each row; three kernels on a device.
const char* const kRows =
    "g (float[n,256] x) => (float[n,256] y) { [r] a = Relu(x) [m] b = Mul(a, x) [s] y = Sub(b, a) "
    "}";

// What lies between its nodes stays in memory, whoever runs it: no provider takes them together.
const char* const kTurnedRows =
    "g (float[n,256] x) => (float[n,256] y) { a = Relu(x) t = Transpose<perm=[1,0]>(a) "
    "b = Transpose<perm=[1,0]>(t) y = Sub(b, a) }";

Inputs rows(int64_t count, uint32_t seed = 1) { return {{"x", numbers({count, 256}, seed)}}; }

void expect_right(Session& session, Session& cpu, int64_t count, uint32_t seed = 1) {
  expect_close(session.run(rows(count, seed)), cpu.run(rows(count, seed)));
}

DeviceInfo info_of(SimRuntime& sim, const std::string& name) {
  for (const DeviceInfo& row : sim->devices()) {
    if (row.device.to_string() == name) return row;
  }
  throw std::out_of_range("no device " + name);
}

// ---- Memory ------------------------------------------------------------------------------------

class MemoryLimit : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(MemoryLimit, OfASessionIsHeldAndSmallerRunsGoOn) {
  const auto& [device, space] = GetParam();
  SimRuntime sim(R"({"latency_us": 0})");
  const sim::Journal& journal = sim.journal();
  {
    Session session =
        sim.session(kTurnedRows, R"({"session": {"memory_limit_bytes": 100000}})", device);
    Session cpu = sim.on_cpu(kTurnedRows);
    for (int round = 0; round < 3; ++round) {
      expect_right(session, cpu, 8);
      expect_error(
          Code::kOutOfMemory,
          {space, "no memory for", "the session holds", "memory_limit_bytes allows 100000"},
          [&] { session.run(rows(100)); });
      EXPECT_LE(journal.bytes, 100000U);
      expect_right(session, cpu, 20);
      const MemoryUse use = session.memory();
      EXPECT_LE(use.arena + use.pool, 100000U);
    }
  }
  EXPECT_EQ(journal.blocks, 0U);
}

INSTANTIATE_TEST_SUITE_P(Devices, MemoryLimit,
                         testing::Values(std::pair("SIM:0", "SIM:0"),
                                         std::pair("CPU", "host memory")),
                         [](const auto& info) { return std::string(info.param.first, 3); });

TEST(MemoryLimits, CountUploadedConstants) {
  SimRuntime sim;
  const std::string model =
      "g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Mul(x, w) }";
  expect_error(Code::kOutOfMemory, {"SIM:0", "no memory for 12 bytes", "allows 5"},
               [&] { sim.session(model, R"({"session": {"memory_limit_bytes": 5}})", "SIM:0"); });
  EXPECT_EQ(sim.journal().blocks, 0U);
}

TEST(MemoryLimits, BlocksThatAreKeptForLaterAreGivenBackFirst) {
  SimRuntime sim(R"({"latency_us": 0, "memory_bytes": 65536})");
  Session session = sim.session(kRows, "{}", "SIM:0");
  Session cpu = sim.on_cpu(kRows);
  for (const int64_t count : {16, 14, 12, 10, 16, 9, 11, 13, 15, 16})
    expect_right(session, cpu, count);
  expect_error(Code::kOutOfMemory,
               {"SIM:0", "no memory for", "a simulated device of 65536 bytes", "the session holds"},
               [&] { session.run(rows(200)); });
  expect_right(session, cpu, 16);
}

TEST(MemoryLimits, AnAllocationThatFailsOnceIsTriedAgain) {
  for (int number = 1; number <= 6; ++number) {
    SimRuntime sim(R"({"latency_us": 0, "faults": {"allocate": )" + std::to_string(number) + "}}");
    Session session = sim.session(kRows, "{}", "SIM:0");
    Session cpu = sim.on_cpu(kRows);
    for (const int64_t count : {3, 3, 5, 3}) expect_right(session, cpu, count);
  }
}

// ---- Errors that are reported late -------------------------------------------------------------

TEST(LateError, NamesTheNodeAndEndsOnlyItsRun) {
  SimRuntime sim(R"({"faults": {"run": 2}})");
  // The Tanh on the host reads what the device never wrote: the cause is told, not what follows.
  const std::string model =
      "g (float[2,3] x) => (float[2,3] y) { [first] a = Relu(x) [second] b = Mul(a, x) y = Tanh(b) "
      "}";
  Session session = sim.session(model, placed({}));
  Session cpu = sim.on_cpu(model);
  expect_error(Code::kDeviceError, {"SIM:0", "Mul \"second\"", "the fault \"run\""}, [&] {
    session.run({{"x", numbers({2, 3})}});
  });
  for (uint32_t seed = 0; seed < 4; ++seed) {
    const Inputs inputs = {{"x", numbers({2, 3}, seed)}};
    expect_close(session.run(inputs), cpu.run(inputs));
  }
  EXPECT_EQ(info_of(sim, "SIM:0").state, "ready");
}

TEST(LateError, ReachesOneOfManyRuns) {
  SimRuntime sim(R"({"latency_us": 0, "jitter_us": 200, "faults": {"run": 20}})");
  Session session = sim.session(kRows, "{}", "SIM:0");
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (uint32_t run = 0; run < 5; ++run) {
        try {
          session.run(rows(2, i * 10 + run));
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::kDeviceError) << error.what();
          ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 1);
}

TEST(LateError, OfACopyEndsTheRun) {
  for (int number = 1; number <= 2; ++number) {
    SimRuntime sim(R"({"faults": {"copy": )" + std::to_string(number) + "}}");
    Session session = sim.session(kRows, "{}", "SIM:0");
    Session cpu = sim.on_cpu(kRows);
    expect_error(Code::kDeviceError, {"SIM:0", "the fault \"copy\""},
                 [&] { session.run(rows(2)); });
    expect_right(session, cpu, 2);
  }
}

// ---- Lost devices ------------------------------------------------------------------------------

TEST(LostDevice, EndsItsRunsAndNothingElse) {
  SimRuntime sim(R"({"faults": {"device": 0, "device_lost": 5}})");
  const sim::Journal& journal = sim.journal();
  {
    Session session = sim.session(kRows, "{}", "SIM:0");
    Session cpu = sim.on_cpu(kRows);
    expect_right(session, cpu, 2);
    expect_error(Code::kDeviceLost, {"SIM:0", "lost"}, [&] { session.run(rows(2)); });
    expect_error(Code::kDeviceLost, {"device SIM:0 is blocked", "lost"},
                 [&] { session.run(rows(2)); });
    const DeviceInfo lost = info_of(sim, "SIM:0");
    EXPECT_EQ(lost.state, "blocked");
    EXPECT_THAT(lost.reason, testing::HasSubstr("lost"));
    EXPECT_FALSE(sim->supports_device("SIM:0"));
    expect_error(Code::kUnavailable, {"SIM:0", "blocked", "lost"},
                 [&] { sim.session(kRows, "{}", "SIM:0"); });
    Session other = sim.session(kRows, "{}", "SIM:1");
    expect_right(other, cpu, 2);
  }
  EXPECT_EQ(journal.streams, 0U) << "destroy functions are still called";
  EXPECT_EQ(journal.blocks, 0U);
}

// ---- Devices that hang -------------------------------------------------------------------------

class Hang : public testing::TestWithParam<bool> {};

TEST_P(Hang, EndsARunThatMayBeStoppedAndLeavesTheDevice) {
  const bool by_deadline = GetParam();
  SimRuntime sim(R"({"faults": {"device": 0, "hang": 4}})");
  const sim::Journal& journal = sim.journal();
  const auto start = Clock::now();
  {
    Session session = sim.session(kRows, R"({"session": {"stop_grace_ms": 100}})", "SIM:0");
    Session second = sim.session(kRows, "{}", "SIM:0");
    Session cpu = sim.on_cpu(kRows);
    expect_right(session, cpu, 2);
    std::atomic<bool> cancel = false;
    RunOptions options;
    if (by_deadline) {
      options.timeout_ns = 50'000'000;
    } else {
      options.cancel = &cancel;
    }
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      cancel = true;
    });
    expect_error(by_deadline ? Code::kDeadlineExceeded : Code::kCancelled,
                 {by_deadline ? "deadline" : "cancelled", "did not come to rest within 100 ms"},
                 [&] { session.run(rows(2), options); });
    canceller.join();
    EXPECT_EQ(info_of(sim, "SIM:0").state, "blocked");
    expect_error(Code::kDeviceLost, {"SIM:0 is blocked", "did not come to rest"},
                 [&] { session.run(rows(2)); });
    expect_error(Code::kDeviceLost, {"SIM:0 is blocked"}, [&] { second.run(rows(2)); });
    Session other = sim.session(kRows, "{}", "SIM:1");
    expect_right(other, cpu, 2);
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20)) << "destroying does not wait either";
  EXPECT_GT(journal.blocks, 0U) << "what the device may still use is kept";
}

INSTANTIATE_TEST_SUITE_P(Runs, Hang, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "PastItsDeadline" : "Cancelled");
});

TEST(SlowDevice, EndsARunAtItsDeadlineAndStaysInUse) {
  SimRuntime sim(R"({"latency_us": 0, "faults": {"slow_ns": 100000000}})");
  Session session = sim.session(kRows, R"({"session": {"stop_grace_ms": 60000}})", "SIM:0");
  Session cpu = sim.on_cpu(kRows);
  RunOptions options;
  options.timeout_ns = 20'000'000;
  expect_error(Code::kDeadlineExceeded, {"deadline"}, [&] { session.run(rows(2), options); });
  EXPECT_EQ(info_of(sim, "SIM:0").state, "ready");
  expect_right(session, cpu, 2);
}

// ---- Claims that cannot be compiled ------------------------------------------------------------

TEST(CompileFailure, FallsBackWhereThePolicyAllowsIt) {
  SimRuntime sim(R"({"faults": {"compile": "Relu"}})");
  Session session = sim.session(kRows, placed({}));
  Session cpu = sim.on_cpu(kRows);
  std::map<std::string, NodePlacement> nodes;
  for (const NodePlacement& node : session.placement().nodes) nodes[node.node] = node;
  EXPECT_EQ(nodes["r"].device, "CPU:0");
  EXPECT_THAT(nodes["r"].reason, testing::HasSubstr("sim on SIM:0: claim dropped: compile failed"));
  EXPECT_THAT(nodes["r"].reason, testing::HasSubstr("the fault \"compile\""));
  EXPECT_EQ(nodes["m"].device, "SIM:0");
  expect_right(session, cpu, 3);
}

TEST(CompileFailure, IsTheSessionsWhereItMayNotFallBack) {
  SimRuntime sim(R"({"faults": {"compile": "Relu"}})");
  expect_error(
      Code::kDeviceError,
      {"Relu \"r\" on SIM:0", "provider \"sim\"", "compile failed", "the fault \"compile\""},
      [&] { sim.session(kRows, "{}", "SIM:0"); });
  EXPECT_EQ(sim.journal().blocks, 0U);
}

}  // namespace
}  // namespace gantry
