// SPDX-License-Identifier: Apache-2.0
#include "run/step_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/trace.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::floats;
using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

class StepTraceTest : public testing::Test {
 protected:
  StepTraceTest() { WorkingProvider::reset(); }

  // Records of a kind: their steps' names and payloads.
  struct Record {
    std::string node;
    std::vector<int64_t> numbers;
  };
  static std::vector<Record> records(const Trace& trace, TraceKind kind) {
    std::vector<Record> found;
    trace.read([&](uint32_t, const TraceRecord& record) {
      if (record.kind != kind) return;
      found.push_back({static_cast<const Step*>(record.subject)->node,
                       {record.numbers().begin(), record.numbers().end()}});
    });
    return found;
  }
};

TEST_F(StepTraceTest, ARecordHasTheTensorsOfItsCall) {
  Trace trace;
  TestProgram program("g (float[2] x) => (float[2] y) { [n] a = Neg(x) [s] y = Add(a, x) }");
  test::run(program.start({}, &trace), {floats({1, 2})});
  const std::vector<Record> steps = records(trace, TraceKind::kStep);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].node, "n");
  const TracedCall call = read_call(steps[1].numbers);
  ASSERT_EQ(call.inputs.size(), 2U);
  ASSERT_EQ(call.outputs.size(), 1U);
  EXPECT_EQ(call.inputs[0]->dtype, DType::kFloat);
  EXPECT_THAT(call.outputs[0]->shape, ElementsAre(2));
}

TEST_F(StepTraceTest, AnOutputThatNobodyWantsIsNone) {
  Trace trace;
  TestProgram program("g (float[2] x) => (float[2] y) { [unread] a = Neg(x) [s] y = Relu(x) }");
  test::run(program.start({}, &trace), {floats({1, 2})});
  const std::vector<Record> steps = records(trace, TraceKind::kStep);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_FALSE(read_call(steps[0].numbers).outputs[0].has_value());
}

TEST_F(StepTraceTest, StepsOnAStreamHaveARecordOfTheDeviceToo) {
  Trace trace;
  TestProgram program("g (float[2] x) => (float[2] y) { [n] y = Neg(x) }", {"MEM:0"});
  test::run(program.start({}, &trace), {floats({1, 2})});
  std::vector<std::string> nodes;
  for (const Record& record : records(trace, TraceKind::kDevice)) nodes.push_back(record.node);
  EXPECT_THAT(nodes, ElementsAre("x", "n", "y"));  // with the copies, in the stream's order
}

TEST_F(StepTraceTest, LaunchedStepsAreOneRecord) {
  WorkingProvider::offers_captures = true;
  Trace trace;
  TestProgram program("g (float[2] x) => (float[2] y) { [n] a = Neg(x) [r] y = Relu(a) }",
                      {"MEM:0"});
  Executor& executor = program.start({}, &trace);
  for (int i = 0; i < 4; ++i) test::run(executor, {floats({1, 2})});
  const std::vector<Record> replays = records(trace, TraceKind::kReplay);
  ASSERT_EQ(replays.size(), 2U);
  EXPECT_EQ(replays[0].node, "n");
  EXPECT_THAT(replays[0].numbers, ElementsAre(2));
}

}  // namespace
}  // namespace gantry
