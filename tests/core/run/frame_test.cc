// SPDX-License-Identifier: Apache-2.0
#include "run/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/run_resources.h"
#include "support/expect_error.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::elements_of;
using test::expect_error;
using test::floats;
using test::TestProgram;
using test::value_named;
using test::WorkingProvider;
using testing::ElementsAre;

// A frame by itself, without an executor.
class FrameTest : public testing::Test {
 protected:
  FrameTest() { WorkingProvider::reset(); }

  void start(const std::string& model, const std::vector<std::string>& devices = {"HST"}) {
    program_ = std::make_unique<TestProgram>(model, devices);
    const size_t outputs = program_->program().outputs().size();
    resources_ = std::make_unique<RunResources>(outputs, program_->devices(), 1);
    frame_ = std::make_unique<Frame>(program_->program(), *resources_);
  }
  Frame& frame() { return *frame_; }
  [[nodiscard]] uint32_t input(size_t i) const { return program_->program().inputs()[i]; }
  [[nodiscard]] const gantry_value& output(size_t i) {
    return frame().slot(program_->program().outputs()[i].slot).get();
  }

  std::unique_ptr<TestProgram> program_;
  std::unique_ptr<RunResources> resources_;
  std::unique_ptr<Frame> frame_;
};

TEST_F(FrameTest, IssuesEveryStepOnWhatItWasGiven) {
  start("g (float[2] x) => (float[2] y) { a = Neg(x) y = Add(a, x) }");
  const ValueRef x = floats({1, -2});
  frame().set_view(input(0), *x);
  frame().run();
  EXPECT_THAT(elements_of(output(0)), ElementsAre(0, 0));
  frame().reset();
}

TEST_F(FrameTest, AViewShowsTheCallersMemoryAndARefTheValueItself) {
  start("g (float[2] x) => (float[2] y) { y = Neg(x) }");
  const ValueRef x = floats({1, -2});
  frame().set_view(input(0), *x);
  EXPECT_EQ(frame().slot(input(0)).get().view.data, x->view.data);
  frame().set_ref(input(0), x);
  EXPECT_EQ(&frame().slot(input(0)).get(), x.get());
  frame().run();
  EXPECT_THAT(elements_of(output(0)), ElementsAre(-1, 2));
  frame().reset();
  EXPECT_EQ(frame().slot(input(0)).ref, nullptr);
}

TEST_F(FrameTest, MemoryGoesBackToThePoolWhenItsLastReaderIsDone) {
  start(
      "g (float[1024] x) => (float[1024] y) { a = Neg(x) b = Relu(a) c = Relu(b) d = Relu(c)"
      " y = Neg(d) }");
  const ValueRef x = floats(std::vector<float>(1024, -1));
  frame().set_view(input(0), *x);
  frame().run();
  EXPECT_LE(resources_->pool(0).held_bytes(), 2U * 4096);  // of the four in between two at a time
  frame().reset();
}

TEST_F(FrameTest, TheHostSeesWhatADeviceHasWritten) {
  start("g (float[2] x) => (float[2] y) { a = Neg(x) y = Relu(a) }", {"MEM:0"});
  const ValueRef x = floats({1, -2});
  frame().set_view(input(0), *x);
  frame().run();
  resources_->synchronize();
  EXPECT_THAT(elements_of(output(0)), ElementsAre(0, 2));
  frame().reset();
}

TEST_F(FrameTest, AnOutputMaySayItsShapeLaterButNoLargerOne) {
  start("g (float[4] x) => (float[N] y) { [n] y = Neg(x) }");
  const ValueRef x = floats({1, 2, 3, 4});
  frame().set_view(input(0), *x);
  frame().run();
  const uint32_t slot = program_->program().outputs()[0].slot;
  const int64_t smaller = 2;
  frame().shrink(slot, &smaller);
  EXPECT_EQ(output(0).view.size_bytes, 8U);
  const int64_t larger = 3;
  expect_error(Code::kInvalidArgument, {"\"y\""}, [&] { frame().shrink(slot, &larger); });
  frame().reset();
}

}  // namespace
}  // namespace gantry
