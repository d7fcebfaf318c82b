// SPDX-License-Identifier: Apache-2.0
// How outputs of a body come into the frame around it.
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

ValueRef truth(bool value) {
  ValueRef tensor = make_tensor(DType::kBool, {});
  *static_cast<bool*>(tensor->view.data) = value;
  return tensor;
}

class FrameDeliveryTest : public testing::Test {
 protected:
  FrameDeliveryTest() { WorkingProvider::reset(); }

  // Of node "p": where its first input lies.
  static void note_input(const std::string& node, const void*& address) {
    WorkingProvider::behaviours[node].before_run = [&address](const gantry_call& call) {
      address = call.inputs[0]->data;
    };
  }
};

TEST_F(FrameDeliveryTest, ABodyMakesAnOutputInTheCallersTensor) {
  const void* made = nullptr;
  note_input("look", made);
  TestProgram program(
      "g (bool c, float[2] x) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] p)"
      " { p = Neg(x) [look] unread = Neg(p) },"
      " else_branch = e () => (float[2] q) { q = Relu(x) }> }");
  Executor& executor = program.start();
  for (int i = 0; i < 3; ++i) {
    const ValueRef bound = floats({0, 0});
    std::vector<ValueRef> outputs = {bound};
    executor.run(std::vector<ValueRef>{truth(true), floats({1, -2})}, outputs, {});
    EXPECT_THAT(elements_of(*bound), ElementsAre(-1, 2));
    EXPECT_EQ(made, bound->view.data) << "run " << i;
  }
}

TEST_F(FrameDeliveryTest, ABodyMayHandOutWhatItDidNotMake) {
  TestProgram program(
      "g (bool c, float[2] x) => (float[2] y, float[2] x2) { x2 = Neg(x)"
      " y = If (c) <then_branch = t () => (float[2] p) { p = Identity(x) },"
      " else_branch = e () => (float[2] q) <float[2] q = {5, 6}> { }> }");
  Executor& executor = program.start();
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(test::run(executor, {truth(true), floats({1, -2})})[0], ElementsAre(1, -2));
    EXPECT_THAT(test::run(executor, {truth(false), floats({1, -2})})[0], ElementsAre(5, 6));
  }
}

TEST_F(FrameDeliveryTest, WhatABodyMadeIsReadBehindIt) {
  TestProgram program(
      "g (bool c, float[2] x) => (float[2] y) { z = If (c) <then_branch = t () => (float[2] p)"
      " { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Relu(x) }> y = Add(z, x) }");
  Executor& executor = program.start();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(test::run(executor, {truth(true), floats({1, -2})})[0], ElementsAre(0, 0));
    EXPECT_THAT(test::run(executor, {truth(false), floats({1, -2})})[0], ElementsAre(2, -2));
  }
}

}  // namespace
}  // namespace gantry
