// SPDX-License-Identifier: Apache-2.0
#include "program/lifetimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_program.h"

namespace gantry {
namespace {

using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;
using testing::IsEmpty;

class LifetimesTest : public testing::Test {
 protected:
  LifetimesTest() { WorkingProvider::reset(); }

  static std::vector<std::string> names(const TestProgram& program,
                                        const std::vector<uint32_t>& slots) {
    std::vector<std::string> names;
    for (const uint32_t slot : slots) {
      const SlotInfo& info = program.program().slots()[slot];
      names.push_back(info.name + (info.space == 0 ? "" : "*"));
    }
    return names;
  }
};

TEST_F(LifetimesTest, ASlotIsReleasedByTheStepThatReadsItLast) {
  const TestProgram program(
      "g (float[4] x) => (float[4] y) { a = Neg(x) b = Relu(a) c = Add(a, b) y = Neg(c) }");
  EXPECT_THAT(names(program, program.steps()[0].releases), ElementsAre("x"));
  EXPECT_THAT(names(program, program.steps()[1].releases), IsEmpty());
  EXPECT_THAT(names(program, program.steps()[2].releases), ElementsAre("a", "b"));
  EXPECT_THAT(program.steps()[2].ends_here, ElementsAre(1, 1));
  EXPECT_THAT(names(program, program.steps()[3].releases), ElementsAre("c"));
}

TEST_F(LifetimesTest, WhatLeavesTheSessionAndConstantsAreNotReleased) {
  const TestProgram program(
      "g (float[2] x) => (float[2] y, float[2] a) <float[2] w = {1, 2}>"
      " { a = Add(x, w) y = Neg(a) }");
  EXPECT_THAT(names(program, program.steps()[0].releases), ElementsAre("x"));
  EXPECT_THAT(names(program, program.steps()[1].releases), IsEmpty());
}

TEST_F(LifetimesTest, HostMemoryThatADeviceReadsIsKeptToTheEnd) {
  const TestProgram program(
      "g (float[4] x) => (float[4] y) { [n] a = Neg(x) [m] b = Relu(a) [o] y = Neg(b) }",
      {"HST", "MEM:0"}, {{"m", "MEM:0"}});
  ASSERT_THAT(program.outline(),
              ElementsAre("Neg(x)>a", "copy(a)>a*", "Relu(a*)>b*", "copy(b*)>b", "Neg(b)>y"));
  for (const Step& step : program.steps()) {
    for (const std::string& name : names(program, step.releases)) EXPECT_NE(name, "a");
  }
}

TEST_F(LifetimesTest, TheHostWaitsOnceForWhatADeviceWrites) {
  const TestProgram program(
      "g (float[4] x) => (float[4] y) {"
      " [m] b = Relu(x) [o] c = Neg(b) [p] y = Add(b, c) }",
      {"HST", "MEM:0"}, {{"m", "MEM:0"}});
  ASSERT_THAT(program.outline(),
              ElementsAre("copy(x)>x*", "Relu(x*)>b*", "copy(b*)>b", "Neg(b)>c", "Add(b,c)>y"));
  EXPECT_THAT(program.steps()[2].waits, IsEmpty());  // the stream has the order
  EXPECT_THAT(names(program, program.steps()[3].waits), ElementsAre("b"));
  EXPECT_THAT(program.steps()[4].waits, IsEmpty());
}

TEST_F(LifetimesTest, AnInputAndAnOutputThatOnlyCopiesReadMayLieOnTheDevice) {
  const TestProgram program("g (float[4] x) => (float[4] y) { y = Relu(x) }", {"MEM:0"});
  EXPECT_THAT(program.program().resident_inputs(), ElementsAre(1));
  EXPECT_THAT(program.program().resident_outputs(), ElementsAre(1));
}

TEST_F(LifetimesTest, AnInputThatTheHostReadsTooMayNot) {
  const TestProgram program(
      "g (float[4] x) => (float[4] y, float[4] z) { [m] y = Relu(x) [n] z = Neg(x) }",
      {"HST", "MEM:0"}, {{"m", "MEM:0"}});
  EXPECT_THAT(program.program().resident_inputs(), ElementsAre(0));
  EXPECT_THAT(program.program().resident_outputs(), ElementsAre(1, 0));
}

class CapturableSegmentsTest : public LifetimesTest {
 protected:
  CapturableSegmentsTest() { WorkingProvider::offers_captures = true; }

  static std::vector<uint32_t> segments(const TestProgram& program) {
    std::vector<uint32_t> lengths;
    for (const Step& step : program.steps()) lengths.push_back(step.capturable_steps);
    return lengths;
  }
  static constexpr const char* kChain =
      "g (float[4] x) => (float[4] y) { [k] a = Neg(x) [l] b = Relu(a) [m] y = Neg(b) }";
};

TEST_F(CapturableSegmentsTest, KernelsOfOneDeviceThatFollowEachOtherAreOne) {
  EXPECT_THAT(segments(TestProgram(kChain, {"MEM:0"})), ElementsAre(0, 3, 0, 0, 0));
}

TEST_F(CapturableSegmentsTest, AKernelThatMayNotBeCapturedEndsOne) {
  WorkingProvider::behaviours["m"].kernel_flags = GANTRY_KERNEL_NO_CAPTURE;
  EXPECT_THAT(segments(TestProgram(kChain, {"MEM:0"})), ElementsAre(0, 2, 0, 0, 0));
}

TEST_F(CapturableSegmentsTest, ASingleKernelIsNone) {
  WorkingProvider::behaviours["l"].kernel_flags = GANTRY_KERNEL_NO_CAPTURE;
  const TestProgram program(kChain, {"MEM:0"});
  EXPECT_THAT(segments(program), ElementsAre(0, 0, 0, 0, 0));
  EXPECT_FALSE(program.program().has_capturable_segments());
}

TEST_F(CapturableSegmentsTest, ADeviceThatCannotCaptureHasNone) {
  EXPECT_THAT(segments(TestProgram(kChain, {"MEM:1"})), ElementsAre(0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace gantry
