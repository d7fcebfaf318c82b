// SPDX-License-Identifier: Apache-2.0
#include "run/control_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_program.h"

namespace gantry {
namespace {

using test::floats;
using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

template <class T>
ValueRef scalar(DType dtype, T value) {
  ValueRef tensor = make_tensor(dtype, {});
  *static_cast<T*>(tensor->view.data) = value;
  return tensor;
}

class ControlFlowTest : public testing::Test {
 protected:
  ControlFlowTest() { WorkingProvider::reset(); }

  static constexpr const char* kLoop =
      "g (int64 n, bool go, float[2] x, float[2] step) => (float[2] last, float[K, 2] all)"
      " { last, all = Loop (n, go, x) <body = b (int64 i, bool go_in, float[2] before)"
      " => (bool go_out, float[2] after, float[2] each)"
      " { go_out = Identity(go_in) after = Add(before, step) each = Neg(after) }> }";

  static std::vector<std::vector<float>> loop(Executor& executor, int64_t trips, bool goes) {
    return test::run(executor, {scalar<int64_t>(DType::kInt64, trips),
                                scalar<bool>(DType::kBool, goes), floats({1, 2}), floats({1, 10})});
  }
};

TEST_F(ControlFlowTest, IfRunsOneBodyOnly) {
  TestProgram program(
      "g (bool c, float[2] x) => (float[2] y) { y = If (c)"
      " <then_branch = t () => (float[2] p) { [yes] p = Neg(x) },"
      " else_branch = e () => (float[2] q) { [no] q = Relu(x) }> }");
  Executor& executor = program.start();
  EXPECT_THAT(test::run(executor, {scalar<bool>(DType::kBool, true), floats({1, -2})}),
              ElementsAre(ElementsAre(-1, 2)));
  EXPECT_EQ(WorkingProvider::counts.runs, 1U);
  EXPECT_THAT(test::run(executor, {scalar<bool>(DType::kBool, false), floats({1, -2})}),
              ElementsAre(ElementsAre(1, 0)));
  EXPECT_EQ(WorkingProvider::counts.runs, 2U);
}

TEST_F(ControlFlowTest, LoopCarriesAndCollects) {
  TestProgram program(kLoop);
  Executor& executor = program.start();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(loop(executor, 3, true),
                ElementsAre(ElementsAre(4, 32), ElementsAre(-2, -12, -3, -22, -4, -32)));
    EXPECT_THAT(loop(executor, 1, true), ElementsAre(ElementsAre(2, 12), ElementsAre(-2, -12)));
  }
}

TEST_F(ControlFlowTest, ALoopThatDoesNotBeginHandsOutWhatItWasGiven) {
  TestProgram program(kLoop);
  Executor& executor = program.start();
  for (const auto& outputs : {loop(executor, 0, true), loop(executor, 3, false)}) {
    EXPECT_THAT(outputs[0], ElementsAre(1, 2));
    EXPECT_THAT(outputs[1], ElementsAre());
  }
}

TEST_F(ControlFlowTest, BodiesRunOnADeviceToo) {
  TestProgram program(kLoop, {"MEM:0", "HST"});
  Executor& executor = program.start();
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(loop(executor, 2, true),
                ElementsAre(ElementsAre(3, 22), ElementsAre(-2, -12, -3, -22)));
  }
}

TEST_F(ControlFlowTest, ARunThatIsStoppedLeavesTheLoop) {
  std::atomic<bool> cancel = false;
  WorkingProvider::behaviours["Neg"].before_run = [&](const gantry_call&) {
    if (WorkingProvider::counts.runs > 30) cancel = true;
  };
  TestProgram program(kLoop);
  Executor& executor = program.start();
  RunOptions options;
  options.cancel = &cancel;
  std::vector<ValueRef> outputs(2);
  const std::vector<ValueRef> inputs = {scalar<int64_t>(DType::kInt64, 1 << 20),
                                        scalar<bool>(DType::kBool, true), floats({1, 2}),
                                        floats({1, 10})};
  try {
    executor.run(inputs, outputs, options);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCancelled);
  }
  EXPECT_LT(WorkingProvider::counts.runs, 40U);
}

}  // namespace
}  // namespace gantry
