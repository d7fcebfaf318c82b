// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(Assert, AConditionThatHoldsDoesNothing) { GANTRY_ASSERT(1 + 1 == 2, "one and one are two"); }

TEST(AssertDeathTest, AFailureNamesTheInvariantAndTheCondition) {
  EXPECT_DEATH(fail_assertion("a == b", "both are equal", "core/x.cc", 7),
               "expected that both are equal; found that a == b is false \\(core/x.cc:7\\)");
}

// Such a build checks; the other does not even evaluate.
TEST(AssertDeathTest, IsCheckedInDevelopmentBuildsAndFreeInOthers) {
#if GANTRY_HAS_ASSERTS
  EXPECT_DEATH(GANTRY_ASSERT(false, "this is never so"), "this is never so");
#else
  int evaluations = 0;
  GANTRY_ASSERT(++evaluations == 0, "this is never so");
  EXPECT_EQ(evaluations, 0);
#endif
}

}  // namespace
}  // namespace gantry
