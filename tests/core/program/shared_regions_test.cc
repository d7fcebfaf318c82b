// SPDX-License-Identifier: Apache-2.0
// Without an isolated provider; with one: tests/plugins/isolation_test.cc.
#include "program/shared_regions.h"

#include <gtest/gtest.h>

#include "support/test_program.h"

namespace gantry {
namespace {

using test::TestProgram;
using test::WorkingProvider;

TEST(SharedRegions, AreNoneWhereNoProviderRunsInAProcessOfItsOwn) {
  WorkingProvider::reset();
  const TestProgram program("g (float[4] x) => (float[4] y) { a = Neg(x) y = Relu(a) }");
  EXPECT_EQ(program.devices().shared_region_count(), 0U);
  for (const SlotInfo& slot : program.program().slots())
    EXPECT_EQ(slot.shared_region, 0U) << slot.name;
}

}  // namespace
}  // namespace gantry
