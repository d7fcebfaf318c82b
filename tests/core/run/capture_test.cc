// SPDX-License-Identifier: Apache-2.0
#include "run/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_program.h"

namespace gantry {
namespace {

using test::floats;
using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

class CaptureTest : public testing::Test {
 protected:
  CaptureTest() {
    WorkingProvider::reset();
    WorkingProvider::offers_captures = true;
  }
  static constexpr const char* kChain =
      "g (float[N] x) => (float[N] y) { [k] a = Neg(x) [l] b = Relu(a) [m] y = Neg(b) }";

  static void expect_results(Executor& executor, int runs) {
    for (int i = 0; i < runs; ++i) {
      const auto x = static_cast<float>(i + 1);
      EXPECT_THAT(test::run(executor, {floats({x, -x})}), ElementsAre(ElementsAre(0, -x)));
    }
  }
};

// The first run is recorded for its memory, the second warms up, the third captures.
TEST_F(CaptureTest, TheThirdRunOfAShapeRecordsAndLaterOnesLaunch) {
  TestProgram program(kChain, {"MEM:0"});
  Executor& executor = program.start();
  expect_results(executor, 2);
  EXPECT_EQ(WorkingProvider::counts.captures, 0U);
  expect_results(executor, 1);
  EXPECT_EQ(WorkingProvider::counts.captures, 1U);
  const uint64_t runs = WorkingProvider::counts.runs;
  expect_results(executor, 5);
  EXPECT_EQ(WorkingProvider::counts.captures, 1U);
  EXPECT_EQ(WorkingProvider::counts.launches, 6U);
  EXPECT_EQ(WorkingProvider::counts.runs, runs);  // no kernel is asked any more
}

TEST_F(CaptureTest, EachShapeHasItsOwn) {
  TestProgram program(kChain, {"MEM:0"});
  Executor& executor = program.start();
  expect_results(executor, 4);
  for (int i = 0; i < 4; ++i)
    EXPECT_THAT(test::run(executor, {floats({7})}), ElementsAre(ElementsAre(0)));
  EXPECT_EQ(WorkingProvider::counts.captures, 2U);
  expect_results(executor, 4);  // what was recorded first still holds, or is recorded anew
}

TEST_F(CaptureTest, NothingIsRecordedWhereTheExecutorDoesNotWantIt) {
  TestProgram program(kChain, {"MEM:0"});
  Executor::Options options;
  options.capture = false;
  expect_results(program.start(options), 5);
  EXPECT_EQ(WorkingProvider::counts.captures, 0U);
}

TEST_F(CaptureTest, AfterAFailedRunTheyAreRecordedAnew) {
  bool fails = false;
  WorkingProvider::behaviours["copied"].before_run = [&](const gantry_call&) {
    if (fails) throw Error(Code::kDeviceError, "this run fails");
  };
  TestProgram program(
      "g (float[N] x) => (float[N] y) { [copied] h = Identity(x) [k] a = Neg(h) [l] b = Relu(a)"
      " [m] y = Neg(b) }",
      {"MEM:0", "HST"}, {{"copied", "HST"}});
  Executor& executor = program.start();
  expect_results(executor, 4);
  EXPECT_EQ(WorkingProvider::counts.captures, 1U);
  fails = true;
  EXPECT_THROW(expect_results(executor, 1), Error);
  fails = false;
  expect_results(executor, 4);
  EXPECT_EQ(WorkingProvider::counts.captures, 2U);
}

}  // namespace
}  // namespace gantry
