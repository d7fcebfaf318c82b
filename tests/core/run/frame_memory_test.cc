// SPDX-License-Identifier: Apache-2.0
// Memory that steps ask for: planned, over an input, or from the pool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/error.h"
#include "support/expect_error.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::expect_error;
using test::floats;
using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

class FrameMemoryTest : public testing::Test {
 protected:
  FrameMemoryTest() { WorkingProvider::reset(); }

  // The inputs' memory as the kernel of a node saw it, and its output's, run by run.
  struct Seen {
    const void* input = nullptr;
    const void* output = nullptr;
  };
};

TEST_F(FrameMemoryTest, AKernelMayWriteOverAnInputThatNobodyReadsLater) {
  WorkingProvider::behaviours["r"].overwrites = 1;
  const void* input = nullptr;
  const void* output = nullptr;
  WorkingProvider::behaviours["r"].before_run = [&](const gantry_call& call) {
    input = call.inputs[0]->data;
  };
  WorkingProvider::behaviours["s"].before_run = [&](const gantry_call& call) {
    output = call.inputs[0]->data;
  };
  TestProgram program(
      "g (float[64] x) => (float[64] y) { [n] a = Neg(x) [r] b = Relu(a) [s] y = Neg(b) }");
  Executor& executor = program.start();
  for (int i = 0; i < 3; ++i) {
    const auto outputs = test::run(executor, {floats(std::vector<float>(64, -2))});
    EXPECT_EQ(outputs[0], std::vector<float>(64, -2));
    EXPECT_EQ(input, output) << "run " << i;
  }
}

TEST_F(FrameMemoryTest, AnInputThatIsReadLaterIsNotOverwritten) {
  WorkingProvider::behaviours["r"].overwrites = 1;
  TestProgram program(
      "g (float[2] x) => (float[2] y) { [n] a = Neg(x) [r] b = Relu(a) [s] y = Add(a, b) }");
  Executor& executor = program.start();
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(test::run(executor, {floats({1, -2})}), ElementsAre(ElementsAre(-1, 4)));
}

TEST_F(FrameMemoryTest, TheCallersInputIsNeverOverwritten) {
  WorkingProvider::behaviours["r"].overwrites = 1;
  TestProgram program("g (float[2] x) => (float[2] y) { [r] y = Relu(x) }");
  Executor& executor = program.start();
  const ValueRef x = floats({1, -2});
  for (int i = 0; i < 3; ++i) test::run(executor, {x});
  EXPECT_THAT(test::elements_of(*x), ElementsAre(1, -2));
}

TEST_F(FrameMemoryTest, ScratchOverlapsNothingThatIsInUse) {
  WorkingProvider::behaviours["r"].scratch_bytes = 4096;  // which the kernel fills
  TestProgram program(
      "g (float[2] x) => (float[2] y) { [n] a = Neg(x) [r] b = Relu(a) [s] y = Add(a, b) }");
  Executor& executor = program.start();
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(test::run(executor, {floats({1, -2})}), ElementsAre(ElementsAre(-1, 4)));
}

// What a kernel asks for that does not fit the model or the claim.
class BadRequest : public FrameMemoryTest,
                   public testing::WithParamInterface<
                       std::tuple<uint32_t, uint32_t, std::vector<int64_t>, std::string>> {};

TEST_P(BadRequest, IsRefused) {
  const uint32_t index = std::get<0>(GetParam());
  const uint32_t dtype = std::get<1>(GetParam());
  const std::vector<int64_t>& shape = std::get<2>(GetParam());
  std::string told;
  WorkingProvider::behaviours["n"].before_run = [&](const gantry_call& call) {
    gantry_tensor* output = nullptr;
    gantry_error* error = host_table().output(
        call.run, index, dtype, static_cast<uint32_t>(shape.size()), shape.data(), &output);
    ASSERT_NE(error, nullptr);
    told = message_of(error);
    release_error(error);
  };
  TestProgram program("g (float[2] x) => (float[2] y) { [n] y = Neg(x) }");
  test::run(program.start(), {floats({1, 2})});
  EXPECT_THAT(told, testing::HasSubstr(std::get<3>(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, BadRequest,
    testing::Values(std::tuple(7U, GANTRY_FLOAT, std::vector<int64_t>{2}, "output slot 7"),
                    std::tuple(0U, GANTRY_STRING, std::vector<int64_t>{2}, "handed over as values"),
                    std::tuple(0U, GANTRY_INT64, std::vector<int64_t>{2}, "the model says float"),
                    std::tuple(0U, GANTRY_FLOAT, std::vector<int64_t>{-2}, "must be 0 or more")));

}  // namespace
}  // namespace gantry
