// SPDX-License-Identifier: Apache-2.0
#include "program/compile_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::expect_error;
using test::TestProgram;
using test::WorkingProvider;

constexpr const char* kTwo =
    "g (float[4] x) => (float[4] y) { [first] a = Neg(x) [second] y = Relu(a) }";

class CompileClaimTest : public testing::Test {
 protected:
  CompileClaimTest() { WorkingProvider::reset(); }
};

TEST_F(CompileClaimTest, EachClaimIsCompiledOnceAndItsKernelSaysWhatItIs) {
  const TestProgram program(kTwo);
  EXPECT_EQ(WorkingProvider::counts.compiles, 2U);
  for (const Step& step : program.steps()) EXPECT_NE(step.kernel.raw().run, nullptr) << step.label;
  EXPECT_EQ(program.program().implementations().at(program.steps()[0].nodes[0]), "plain loops");
}

TEST_F(CompileClaimTest, AFailureNamesNodeProviderAndReason) {
  WorkingProvider::behaviours["second"].compile_error = "it has a bad day";
  for (const char* device : {"HST", "MEM:0"}) {
    expect_error(Code::kUnsupported,
                 {"Relu \"second\"", "provider \"working\"", "compile failed", "it has a bad day"},
                 [&] { const TestProgram program(kTwo, {device}); });
  }
}

TEST_F(CompileClaimTest, AFailureSaysWhichClaimCanBePlacedAgain) {
  WorkingProvider::behaviours["second"].compile_error = "it has a bad day";
  try {
    const TestProgram program(kTwo);
    FAIL() << "nothing was thrown";
  } catch (const CompileFailure& failure) {
    EXPECT_EQ(failure.claim.provider, "working");
    EXPECT_EQ(failure.claim.device, (Device{"HST", 0}));
    EXPECT_EQ(failure.claim.nodes, std::vector<uint32_t>{1});
    EXPECT_EQ(failure.claim.reason, "it has a bad day");
  }
}

TEST_F(CompileClaimTest, OfSeveralFailuresTheFirstClaimsIsThrown) {
  WorkingProvider::behaviours["first"].compile_error = "the first one";
  WorkingProvider::behaviours["second"].compile_error = "the second one";
  for (int i = 0; i < 20; ++i)
    expect_error(Code::kUnsupported, {"the first one"}, [] { const TestProgram program(kTwo); });
}

}  // namespace
}  // namespace gantry
