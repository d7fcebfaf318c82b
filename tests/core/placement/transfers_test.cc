// SPDX-License-Identifier: Apache-2.0
#include "placement/transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_program.h"

namespace gantry {
namespace {

using test::TestProgram;
using test::value_named;
using test::WorkingProvider;
using testing::ElementsAre;
using testing::IsEmpty;

class TransfersTest : public testing::Test {
 protected:
  TransfersTest() { WorkingProvider::reset(); }

  // "a: MEM:0 -> CPU:0"
  static std::vector<std::string> texts(const TestProgram& program) {
    std::vector<std::string> texts;
    for (const Transfer& transfer : transfers_of(program.placement(), false)) {
      texts.push_back(transfer.value->name + ": " + transfer.from.to_string() + " -> " +
                      transfer.to.to_string());
    }
    return texts;
  }
};

TEST_F(TransfersTest, AreWhatTheProgramCopies) {
  const TestProgram program(
      "g (float[4] x) => (float[4] y) { [a] a = Neg(x) [b] b = Relu(a) [c] c = Neg(a)"
      " [d] y = Add(b, c) }",
      {"HST", "MEM:0"}, {{"b", "MEM:0"}, {"c", "MEM:0"}});
  EXPECT_THAT(texts(program),
              ElementsAre("a: CPU:0 -> MEM:0", "b: MEM:0 -> CPU:0", "c: MEM:0 -> CPU:0"));
  EXPECT_EQ(texts(program).size(), program.program().copies());
}

TEST_F(TransfersTest, BetweenDevicesThatAreNoPeersThereAreTwo) {
  const TestProgram program("g (float[4] x) => (float[4] y) { [a] a = Neg(x) [b] y = Relu(a) }",
                            {"MEM:0", "MEM:1"}, {{"b", "MEM:1"}});
  EXPECT_THAT(texts(program), ElementsAre("x: CPU:0 -> MEM:0", "a: MEM:0 -> CPU:0",
                                          "a: CPU:0 -> MEM:1", "y: MEM:1 -> CPU:0"));
}

TEST_F(TransfersTest, ConstantsAndHostMemoryNeedNone) {
  const TestProgram program(
      "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Add(x, w) y = Neg(a) }");
  EXPECT_THAT(texts(program), IsEmpty());
}

TEST_F(TransfersTest, BytesAreEstimatedOfWhatIsKnown) {
  const TestProgram program("g (float[3, N] x, string[2] s) => (float[3, N] y) { y = Neg(x) }");
  EXPECT_EQ(estimated_bytes(*value_named(program.graph(), "x")), 12U);
  EXPECT_EQ(estimated_bytes(*value_named(program.graph(), "s")), 0U);
}

TEST_F(TransfersTest, ACopyCostsALaunchAndItsBytes) {
  EXPECT_GT(transfer_ns(0), 0);
  EXPECT_GT(transfer_ns(1 << 20), transfer_ns(1 << 10));
}

}  // namespace
}  // namespace gantry
