// SPDX-License-Identifier: Apache-2.0
// The placement as users see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/placement.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

class DescribeTest : public testing::Test {
 protected:
  DescribeTest() { WorkingProvider::reset(); }
};

TEST_F(DescribeTest, HasARowForEachNodeAndItsBodies) {
  const TestProgram program(
      "g (bool c, float[2] x) => (float[2] y) { [before] a = Neg(x)"
      " [choice] y = If (c) <then_branch = t () => (float[2] p) { [yes] p = Neg(a) },"
      " else_branch = e () => (float[2] q) { [no] q = Relu(a) }> }");
  const Placement placement = describe(program.placement(), program.program().implementations());
  EXPECT_TRUE(placement.compatible);
  std::vector<std::string> names;
  for (const NodePlacement& row : placement.nodes) names.push_back(row.node);
  EXPECT_THAT(names,
              ElementsAre("before", "choice", "choice/then_branch/yes", "choice/else_branch/no"));
  EXPECT_EQ(placement.nodes[0].device, "HST:0");
  EXPECT_EQ(placement.nodes[0].provider, "working");
  EXPECT_EQ(placement.nodes[0].kernel, "working");
  EXPECT_EQ(placement.nodes[0].implementation, "plain loops");
  EXPECT_EQ(placement.nodes[2].parent, 1);
  EXPECT_EQ(placement.nodes[2].body, "then_branch");
}

TEST_F(DescribeTest, ListsTheCopiesWithTheirBytes) {
  const TestProgram program("g (float[4] x) => (float[4] y) { [n] y = Neg(x) }", {"MEM:0"});
  const Placement placement = describe(program.placement());
  EXPECT_EQ(placement.copies, 2U);
  ASSERT_EQ(placement.transfers.size(), 2U);
  EXPECT_EQ(placement.transfers[0].value, "x");
  EXPECT_EQ(placement.transfers[0].to, "MEM:0");
  EXPECT_EQ(placement.transfers[0].size_bytes, 16U);
  EXPECT_EQ(placement.transfers[1].from, "MEM:0");
}

}  // namespace
}  // namespace gantry
