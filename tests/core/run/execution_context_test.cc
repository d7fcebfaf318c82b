// SPDX-License-Identifier: Apache-2.0
#include "run/execution_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_program.h"

namespace gantry {
namespace {

using test::elements_of;
using test::floats;
using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

class ExecutionContextTest : public testing::Test {
 protected:
  ExecutionContextTest()
      : program_((WorkingProvider::reset(), "g (float[2] x) => (float[2] y) { y = Neg(x) }"),
                 {"MEM:0"}),
        context_(program_.program(), program_.devices(), 1) {}

  TestProgram program_;
  ExecutionContext context_;
};

TEST_F(ExecutionContextTest, ItsFrameRunsOnItsResources) {
  EXPECT_EQ(&context_.main().resources(), &context_.resources());
  const ValueRef x = floats({1, -2});
  context_.main().set_view(program_.program().inputs()[0], *x);
  context_.main().run();
  context_.resources().synchronize();
  const uint32_t slot = program_.program().outputs()[0].slot;
  EXPECT_THAT(elements_of(context_.main().slot(slot).get()), ElementsAre(-1, 2));
  context_.main().reset();
}

TEST_F(ExecutionContextTest, DroppingItsMemoryDropsThePlanThatPointsIntoIt) {
  context_.plan = std::make_shared<MemoryPlan>();
  context_.resources().arena(1).reserve(4096);
  context_.drop_memory();
  EXPECT_EQ(context_.plan, nullptr);
  EXPECT_EQ(context_.resources().memory().arena, 0U);
}

}  // namespace
}  // namespace gantry
