// SPDX-License-Identifier: Apache-2.0
#include "run/run_resources.h"

#include <gtest/gtest.h>
#include <thread>

#include "support/test_program.h"

namespace gantry {
namespace {

using test::TestProgram;
using test::WorkingProvider;

class RunResourcesTest : public testing::Test {
 protected:
  RunResourcesTest()
      : program_((WorkingProvider::reset(), "g (float[2] x) => (float[2] y) { y = Neg(x) }"),
                 {"MEM:0"}),
        resources_(program_.program().outputs().size(), program_.devices(), 1) {}

  TestProgram program_;
  RunResources resources_;
};

TEST_F(RunResourcesTest, HasAStreamAPoolAndAnArenaForEachSpace) {
  ASSERT_EQ(resources_.space_count(), 2U);
  EXPECT_EQ(resources_.memory_count(), 2U);
  EXPECT_EQ(resources_.stream(0), nullptr);  // host memory has none
  EXPECT_NE(resources_.stream(1), nullptr);
}

TEST_F(RunResourcesTest, MemoryOfAnAreaStandsBehindThatOfTheSpaces) {
  SlotInfo slot;
  slot.space = 1;
  EXPECT_EQ(resources_.memory_of(slot), 1U);
  slot.space = 0;
  slot.shared_region = 1;
  EXPECT_EQ(resources_.memory_of(slot), 2U);
}

TEST_F(RunResourcesTest, GivesBackWhatItHolds) {
  Block* block = resources_.pool(0).allocate(1 << 20);
  resources_.arena(1).reserve(4096);
  EXPECT_EQ(resources_.memory().arena, 4096U);
  EXPECT_GE(resources_.memory().pool, uint64_t{1} << 20);
  resources_.pool(0).release(block);
  resources_.trim();
  EXPECT_EQ(resources_.memory().pool, 0U);
  resources_.drop_memory();
  EXPECT_EQ(resources_.memory().arena, 0U);
}

TEST_F(RunResourcesTest, AsksOthersWhenItHasNoMoreToGiveBack) {
  int asked = 0;
  resources_.give_back_others = [&] { ++asked; };
  resources_.give_back();
  EXPECT_EQ(asked, 1);
}

TEST(RunLimits, AreNoneUnlessAsked) {
  const RunLimits limits{RunOptions()};
  EXPECT_FALSE(limits.can_stop());
  EXPECT_EQ(limits.stop_code(), Code::kOk);
}

TEST(RunLimits, ACancelledRunIsToStop) {
  std::atomic<bool> cancel = false;
  RunOptions options;
  options.cancel = &cancel;
  const RunLimits limits(options);
  EXPECT_TRUE(limits.can_stop());
  EXPECT_EQ(limits.stop_code(), Code::kOk);
  cancel = true;
  EXPECT_EQ(limits.stop_code(), Code::kCancelled);
}

TEST(RunLimits, ADeadlinePasses) {
  RunOptions options;
  options.timeout_ns = 1;
  const RunLimits limits(options);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(limits.stop_code(), Code::kDeadlineExceeded);
  options.timeout_ns = UINT64_MAX;  // no overflow
  EXPECT_EQ(RunLimits(options).stop_code(), Code::kOk);
}

}  // namespace
}  // namespace gantry
