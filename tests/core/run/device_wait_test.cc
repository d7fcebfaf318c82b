// SPDX-License-Identifier: Apache-2.0
// Waiting for devices. With ones that hang or are slow: tests/plugins/sim_fault_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/run_resources.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::floats;
using test::TestProgram;
using test::WorkingProvider;

TEST(StopError, SaysWhatTheRunWasStoppedFor) {
  EXPECT_EQ(stop_error(Code::kCancelled).message(), "the run was cancelled");
  EXPECT_EQ(stop_error(Code::kDeadlineExceeded).message(),
            "the run did not end before its deadline");
}

class DeviceWaitTest : public testing::Test {
 protected:
  DeviceWaitTest() { WorkingProvider::reset(); }
};

TEST_F(DeviceWaitTest, SynchronizingDoesWhatIsEnqueued) {
  const TestProgram program("g (float[2] x) => (float[2] y) { y = Neg(x) }", {"MEM:0"});
  RunResources resources(program.program().outputs().size(), program.devices(), 1);
  const MemorySpace& space = program.devices().space(1);
  const ValueRef from = floats({1, 2});
  const ValueRef to = floats({0, 0});
  const gantry_copy copy = {
      sizeof(copy), GANTRY_COPY_HOST_TO_DEVICE, to->view.data, from->view.data, 1, 8, 8, 8};
  ASSERT_EQ(space.api->copy(resources.stream(1), &copy), nullptr);
  EXPECT_EQ(test::elements_of(*to)[0], 0);
  resources.synchronize();
  EXPECT_EQ(test::elements_of(*to)[0], 1);
  EXPECT_FALSE(resources.quiesce().has_value());
  EXPECT_FALSE(resources.is_abandoned());
}

TEST_F(DeviceWaitTest, AnEventIsWaitedForUpToWhereItWasRecorded) {
  const TestProgram program("g (float[2] x) => (float[2] y) { y = Neg(x) }", {"MEM:0"});
  RunResources resources(program.program().outputs().size(), program.devices(), 1);
  const MemorySpace& space = program.devices().space(1);
  const ValueRef from = floats({1, 2});
  const ValueRef first = floats({0, 0});
  const ValueRef second = floats({0, 0});
  const auto copy_to = [&](const ValueRef& to) {
    const gantry_copy copy = {
        sizeof(copy), GANTRY_COPY_HOST_TO_DEVICE, to->view.data, from->view.data, 1, 8, 8, 8};
    ASSERT_EQ(space.api->copy(resources.stream(1), &copy), nullptr);
  };
  gantry_event* event = nullptr;
  ASSERT_EQ(space.api->event_create(space.device, &event), nullptr);
  copy_to(first);
  ASSERT_EQ(space.api->event_record(event, resources.stream(1)), nullptr);
  copy_to(second);
  resources.wait(1, event, "a test");
  EXPECT_EQ(test::elements_of(*first)[0], 1);
  EXPECT_EQ(test::elements_of(*second)[0], 0);
  resources.synchronize();
  space.api->event_destroy(event);
}

}  // namespace
}  // namespace gantry
