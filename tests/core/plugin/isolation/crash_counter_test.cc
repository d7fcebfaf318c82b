// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/crash_counter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using std::chrono::minutes;
using testing::AllOf;
using testing::HasSubstr;

TEST(CrashCounter, ThreeEndsInTenMinutesAreQuarantine) {
  const CrashCounter ladder("/ladder/three.so");
  const auto start = CrashCounter::Clock::now();
  ladder.note("was ended by signal 11", start);
  ladder.note("was ended by signal 11", start + minutes(1));
  EXPECT_EQ(ladder.quarantine(), "");
  ladder.note("was ended by signal 6", start + minutes(10));
  EXPECT_THAT(ladder.quarantine(), AllOf(HasSubstr("3 times"), HasSubstr("signal 6")));
  EXPECT_EQ(CrashCounter("/ladder/three.so").quarantine(), ladder.quarantine());
  EXPECT_EQ(CrashCounter("/ladder/other.so").quarantine(), "");
}

TEST(CrashCounter, EndsFarApartAreForgotten) {
  const CrashCounter ladder("/ladder/apart.so");
  const auto start = CrashCounter::Clock::now();
  for (int end = 0; end < 8; ++end) ladder.note("ended", start + minutes(6 * end));
  EXPECT_EQ(ladder.quarantine(), "");
  ladder.note("ended", start + minutes(43));
  EXPECT_NE(ladder.quarantine(), "");
}

}  // namespace
}  // namespace gantry
