// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/crash_ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using std::chrono::minutes;
using testing::AllOf;
using testing::HasSubstr;

TEST(CrashLadder, ThreeEndsInTenMinutesAreQuarantine) {
  const CrashLadder ladder("/ladder/three.so");
  const auto start = CrashLadder::Clock::now();
  ladder.note("was ended by signal 11", start);
  ladder.note("was ended by signal 11", start + minutes(1));
  EXPECT_EQ(ladder.quarantine(), "");
  ladder.note("was ended by signal 6", start + minutes(10));
  EXPECT_THAT(ladder.quarantine(), AllOf(HasSubstr("3 times"), HasSubstr("signal 6")));
  EXPECT_EQ(CrashLadder("/ladder/three.so").quarantine(), ladder.quarantine());
  EXPECT_EQ(CrashLadder("/ladder/other.so").quarantine(), "");
}

TEST(CrashLadder, EndsFarApartAreForgotten) {
  const CrashLadder ladder("/ladder/apart.so");
  const auto start = CrashLadder::Clock::now();
  for (int end = 0; end < 8; ++end) ladder.note("ended", start + minutes(6 * end));
  EXPECT_EQ(ladder.quarantine(), "");
  ladder.note("ended", start + minutes(43));
  EXPECT_NE(ladder.quarantine(), "");
}

}  // namespace
}  // namespace gantry
