// SPDX-License-Identifier: Apache-2.0
#include "program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::expect_error;
using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() { WorkingProvider::reset(); }
};

TEST_F(ProgramTest, CopiesAValueOnceIntoEachSpaceThatReadsIt) {
  const TestProgram program(
      "g (float[4] x) => (float[4] y) { [a] a = Neg(x) [b] b = Relu(a) [c] c = Neg(a)"
      " [d] y = Add(b, c) }",
      {"HST", "MEM:0"}, {{"b", "MEM:0"}, {"c", "MEM:0"}});
  EXPECT_THAT(program.outline(), ElementsAre("Neg(x)>a", "copy(a)>a*", "Relu(a*)>b*", "Neg(a*)>c*",
                                             "copy(b*)>b", "copy(c*)>c", "Add(b,c)>y"));
  EXPECT_EQ(program.program().copies(), 3U);
}

TEST_F(ProgramTest, BetweenDevicesThatAreNoPeersAValueGoesThroughHostMemory) {
  const TestProgram program("g (float[4] x) => (float[4] y) { [a] a = Neg(x) [b] y = Relu(a) }",
                            {"MEM:0", "MEM:1"}, {{"b", "MEM:1"}});
  EXPECT_THAT(program.outline(), ElementsAre("copy(x)>x*", "Neg(x*)>a*", "copy(a*)>a", "copy(a)>a*",
                                             "Relu(a*)>y*", "copy(y*)>y"));
  EXPECT_NE(program.steps()[1].space, program.steps()[4].space);
}

TEST_F(ProgramTest, AConstantIsUploadedWhenTheProgramIsBuilt) {
  const TestProgram program(
      "g (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { a = Add(x, w) y = Add(a, w) }",
      {"MEM:0"});
  EXPECT_EQ(WorkingProvider::counts.copies[GANTRY_COPY_HOST_TO_DEVICE], 1U);
  const Step& step = program.steps()[1];
  EXPECT_EQ(step.inputs[1], program.steps()[2].inputs[1]);
  const SlotInfo& slot = program.program().slots()[step.inputs[1]];
  ASSERT_TRUE(slot.constant);
  EXPECT_THAT(test::elements_of(*slot.constant), ElementsAre(3, 4));
  EXPECT_NE(slot.constant->view.device, 0U);
}

TEST_F(ProgramTest, PortsDecideWhereAnInputIsRead) {
  WorkingProvider::behaviours["b"].input_flags = {0, GANTRY_PORT_HOST};
  const TestProgram program("g (float[4] x, float[4] z) => (float[4] y) { [b] y = Add(x, z) }",
                            {"MEM:0"});
  EXPECT_THAT(program.outline(), ElementsAre("copy(x)>x*", "Add(x*,z)>y*", "copy(y*)>y"));
}

TEST_F(ProgramTest, AConstantForCompileOnlyIsNoInputOfTheStep) {
  WorkingProvider::behaviours["b"].input_flags = {0, GANTRY_PORT_COMPILE_ONLY};
  const TestProgram program(
      "g (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { [b] y = Add(x, w) }");
  EXPECT_THAT(program.outline(), ElementsAre("Add(x,-)>y"));
}

TEST_F(ProgramTest, InputsThatDecideShapesBelongToTheSignature) {
  WorkingProvider::behaviours["b"].input_flags = {0, GANTRY_PORT_SIGNATURE};
  const TestProgram program("g (float[4] x, float[4] z) => (float[4] y) { [b] y = Add(x, z) }");
  EXPECT_THAT(program.program().signature_inputs(), ElementsAre(0, 1));
}

TEST_F(ProgramTest, AnOutputIsDirectOnceAndElseCopiedOut) {
  const TestProgram program(
      "g (float[4] x) => (float[4] y, float[4] y2, float[4] x2)"
      " { y = Neg(x) y2 = Identity(y) x2 = Identity(x) }");
  for (const OutputSource& output : program.program().outputs()) EXPECT_TRUE(output.direct);
  const TestProgram same("g (float[4] x) => (float[4] y, float[4] x) { y = Neg(x) }");
  EXPECT_TRUE(same.program().outputs()[0].direct);
  EXPECT_FALSE(same.program().outputs()[1].direct);  // an input is nobody's to give away
}

TEST_F(ProgramTest, AnOutputThatNobodyReadsIsNotWanted) {
  const TestProgram program(
      "g (float[4] x) => (float[4] y) { [unread] a = Neg(x) [read] y = Relu(x) }");
  EXPECT_THAT(program.steps()[0].wanted, ElementsAre(0));
  EXPECT_THAT(program.steps()[1].wanted, ElementsAre(1));
}

TEST_F(ProgramTest, StringsAreNotCopiedToADevice) {
  expect_error(Code::kUnsupported, {"\"s\"", "no tensor of numbers", "MEM:0"}, [] {
    const TestProgram program("g (string[4] s) => (string[4] t) { t = Identity(s) }", {"MEM:0"});
  });
}

}  // namespace
}  // namespace gantry
