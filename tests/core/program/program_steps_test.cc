// SPDX-License-Identifier: Apache-2.0
// What is asked of a program and its bodies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/program.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

class ProgramStepsTest : public testing::Test {
 protected:
  ProgramStepsTest() { WorkingProvider::reset(); }
  static constexpr const char* kChoice =
      "g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> { [before] a = Add(x, w)"
      " [choice] y = If (c) <then_branch = t () => (float[2] p)"
      " <float[2] v = {3, 4}> { [yes] p = Add(a, v) },"
      " else_branch = e () => (float[2] q) { [no] q = Relu(a) }> }";
};

TEST_F(ProgramStepsTest, BodiesFollowTheStepThatRunsThem) {
  const TestProgram program(kChoice);
  std::vector<std::string> names;
  std::vector<uint32_t> depths;
  for_each_step(program.program(), [&](const Step&, const std::string& name, uint32_t depth) {
    names.push_back(name);
    depths.push_back(depth);
  });
  EXPECT_THAT(names,
              ElementsAre("before", "choice", "choice/then_branch/yes", "choice/else_branch/no"));
  EXPECT_THAT(depths, ElementsAre(0, 0, 1, 1));
}

TEST_F(ProgramStepsTest, ConstantsOfBodiesCountToo) {
  EXPECT_EQ(TestProgram(kChoice).program().constant_bytes(), 2U * 2 * sizeof(float));
}

TEST_F(ProgramStepsTest, ImplementationsOfBodiesAreReportedToo) {
  EXPECT_EQ(TestProgram(kChoice).program().implementations().size(), 3U);
}

}  // namespace
}  // namespace gantry
