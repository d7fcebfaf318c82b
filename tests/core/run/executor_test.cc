// SPDX-License-Identifier: Apache-2.0
#include "run/executor.h"

#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "support/expect_error.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::elements_of;
using test::expect_error;
using test::floats;
using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

class ExecutorTest : public testing::Test {
 protected:
  ExecutorTest() { WorkingProvider::reset(); }
  static constexpr const char* kChain =
      "g (float[N] x) => (float[N] y) { [n] a = Neg(x) [r] b = Relu(a) [s] y = Add(a, b) }";
};

TEST_F(ExecutorTest, EveryRunMakesItsOutputsAnew) {
  TestProgram program(kChain);
  Executor& executor = program.start();
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(test::run(executor, {floats({1, -2})}), ElementsAre(ElementsAre(-1, 4)));
  EXPECT_THAT(test::run(executor, {floats({3})}), ElementsAre(ElementsAre(-3)));
  EXPECT_THAT(test::run(executor, {floats({1, -2})}), ElementsAre(ElementsAre(-1, 4)));
}

TEST_F(ExecutorTest, ADeviceGivesTheSame) {
  TestProgram program(kChain, {"MEM:0"});
  Executor& executor = program.start();
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(test::run(executor, {floats({1, -2})}), ElementsAre(ElementsAre(-1, 4)));
}

TEST_F(ExecutorTest, ABoundOutputIsFilled) {
  TestProgram program(kChain);
  Executor& executor = program.start();
  const ValueRef bound = floats({0, 0});
  std::vector<ValueRef> outputs = {bound};
  executor.run(std::vector<ValueRef>{floats({1, -2})}, outputs, {});
  EXPECT_EQ(outputs[0], bound);
  EXPECT_THAT(elements_of(*bound), ElementsAre(-1, 4));
}

TEST_F(ExecutorTest, ABoundOutputOfAnotherShapeIsRefused) {
  TestProgram program(kChain);
  Executor& executor = program.start();
  std::vector<ValueRef> outputs = {floats({0, 0, 0})};
  expect_error(Code::kInvalidArgument, {"output \"y\"", "[3]", "[2]"}, [&] {
    executor.run(std::vector<ValueRef>{floats({1, -2})}, outputs, {});
  });
}

TEST_F(ExecutorTest, AfterAFailureTheNextRunIsGood) {
  std::atomic<bool> fails = true;
  WorkingProvider::behaviours["r"].before_run = [&](const gantry_call&) {
    if (fails) throw Error(Code::kDeviceError, "the kernel fails");
  };
  TestProgram program(kChain);
  Executor& executor = program.start();
  for (int i = 0; i < 2; ++i) EXPECT_THROW(test::run(executor, {floats({1, -2})}), Error);
  fails = false;
  EXPECT_THAT(test::run(executor, {floats({1, -2})}), ElementsAre(ElementsAre(-1, 4)));
}

TEST_F(ExecutorTest, AKernelsErrorNamesTheNode) {
  WorkingProvider::behaviours["r"].run_error = "no result today";
  TestProgram program(kChain);
  Executor& executor = program.start();
  expect_error(Code::kDeviceError, {"Relu \"r\"", "no result today"},
               [&] { test::run(executor, {floats({1})}); });
}

TEST_F(ExecutorTest, ACancelledRunSaysSo) {
  std::atomic<bool> cancel = false;
  WorkingProvider::behaviours["n"].before_run = [&](const gantry_call&) { cancel = true; };
  TestProgram program(kChain);
  Executor& executor = program.start();
  RunOptions options;
  options.cancel = &cancel;
  expect_error(Code::kCancelled, {"the run was cancelled"},
               [&] { test::run(executor, {floats({1})}, options); });
}

TEST_F(ExecutorTest, RunsMayOverlap) {
  TestProgram program(kChain);
  Executor& executor = program.start();
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const auto size = static_cast<size_t>(t % 3 + 1);
      for (int i = 0; i < 200; ++i) {
        const std::vector<float> x(size, static_cast<float>(-t));
        const auto outputs = test::run(executor, {floats(x)});
        EXPECT_EQ(outputs[0], std::vector<float>(size, static_cast<float>(2 * t)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ExecutorTest, APlannedRunHoldsAnArenaAndGivesThePoolBack) {
  TestProgram program(
      "g (float[1024] x) => (float[1024] y) { a = Neg(x) b = Relu(a) c = Neg(b) y = Add(b, c) }");
  Executor& executor = program.start();
  const std::vector<ValueRef> inputs = {floats(std::vector<float>(1024, 1))};
  test::run(executor, inputs);
  EXPECT_EQ(executor.memory().arena, 0U);
  EXPECT_GT(executor.memory().pool, 0U);
  test::run(executor, inputs);
  EXPECT_GE(executor.memory().arena, 2U * 4096);  // of three values two live at a time
  EXPECT_LT(executor.memory().arena, 3U * 4096);
  EXPECT_EQ(executor.memory().pool, 0U);
}

TEST_F(ExecutorTest, ShapesThatWereNotSeenBeforeBorrowTheArena) {
  TestProgram program(
      "g (float[n] x) => (float[n] y) { a = Neg(x) b = Relu(a) c = Neg(b) y = Add(b, c) }");
  Executor& executor = program.start();
  const std::vector<ValueRef> large = {floats(std::vector<float>(1024, -1))};
  test::run(executor, large);
  test::run(executor, large);
  const auto outputs = test::run(executor, {floats({-2, -1, 2})});
  EXPECT_EQ(outputs[0], std::vector<float>({0, 0, 0}));
  EXPECT_EQ(executor.memory().pool, 0U);
  test::run(executor, {floats(std::vector<float>(4096, -1))});
  EXPECT_GT(executor.memory().pool, 0U);  // what does not fit in
}

TEST_F(ExecutorTest, ProfilesCountRunsOfEachStep) {
  Trace trace(0);
  TestProgram program(kChain);
  Executor& executor = program.start({}, &trace);
  for (int i = 0; i < 3; ++i) test::run(executor, {floats({1})});
  ASSERT_EQ(executor.profile().size(), 3U);
  for (const NodeTime& time : executor.profile()) EXPECT_EQ(time.runs, 3U) << time.node;
  executor.reset_profile();
  for (const NodeTime& time : executor.profile()) EXPECT_EQ(time.runs, 0U) << time.node;
}

}  // namespace
}  // namespace gantry
