// SPDX-License-Identifier: Apache-2.0
#include "program/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_program.h"

namespace gantry {
namespace {

using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

class GroupsTest : public testing::Test {
 protected:
  GroupsTest() { WorkingProvider::reset(); }

  static std::vector<std::string> names(const TestProgram& program) {
    std::vector<std::string> names;
    for (const Group& group : ordered_groups(program.placement())) {
      if (!group.claim) {
        names.push_back("core: " + group.node->name);
        continue;
      }
      std::string name;
      for (const Node* node : group.claim->nodes) name += (name.empty() ? "" : "+") + node->name;
      names.push_back(name);
    }
    return names;
  }
};

TEST_F(GroupsTest, StandInGraphOrderWhereThereIsAChoice) {
  const TestProgram program(
      "g (float[4] x) => (float[4] y) { [c] c = Neg(x) [a] a = Relu(x) [b] y = Add(a, c) }");
  EXPECT_THAT(names(program), ElementsAre("c", "a", "b"));
}

TEST_F(GroupsTest, AClaimOfSeveralNodesIsOneAndStandsBehindAllThatItReads) {
  // first and last are one kernel; middle stands between them in the graph and is read by it.
  WorkingProvider::sets = {{0, 2}};
  const TestProgram program(
      "g (float[4] x, float[4] z) => (float[4] y) {"
      " [first] a = Neg(x) [middle] b = Relu(z) [last] y = Add(a, b) }");
  EXPECT_THAT(names(program), ElementsAre("middle", "first+last"));
}

TEST_F(GroupsTest, ControlFlowIsTheCores) {
  const TestProgram program(
      "g (bool c, float[4] x) => (float[4] y) { [before] a = Neg(x)"
      " [choice] y = If (c) <then_branch = t () => (float[4] p) { p = Neg(a) },"
      " else_branch = e () => (float[4] q) { q = Relu(a) }> }");
  EXPECT_THAT(names(program), ElementsAre("before", "core: choice"));
}

}  // namespace
}  // namespace gantry
