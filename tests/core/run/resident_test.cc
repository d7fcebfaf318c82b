// SPDX-License-Identifier: Apache-2.0
#include "run/resident.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/test_program.h"

namespace gantry {
namespace {

using test::elements_of;
using test::expect_error;
using test::floats;
using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

class ResidentTest : public testing::Test {
 protected:
  ResidentTest()
      : program_((WorkingProvider::reset(),
                  "g (float[2] x) => (float[2] y)"
                  " { [n] a = Neg(x) [r] y = Relu(a) }"),
                 {"MEM:0", "MEM:1"}, {{"r", "MEM:1"}}) {}

  static std::vector<float> read(const gantry_value& value) {
    const ValueRef host = make_tensor(value.dtype, value.shape);
    copy_across(value, *host);
    return elements_of(*host);
  }

  TestProgram program_;
};

TEST_F(ResidentTest, ATensorHasItsHome) {
  const ValueRef value = make_resident(program_.shared_devices(), 1, DType::kFloat, {2});
  ASSERT_TRUE(value->device);
  EXPECT_EQ(value->device->name, (Device{"MEM", 0}));
  EXPECT_EQ(space_of(program_.devices(), *value), 1U);
  EXPECT_EQ(space_of(program_.devices(), *floats({1})), 0U);
  EXPECT_EQ(program_.devices().space(1).used(), 8U);
}

TEST_F(ResidentTest, CopiesGoEveryWay) {
  const auto& devices = program_.shared_devices();
  const ValueRef first = make_resident(devices, 1, DType::kFloat, {2});
  const ValueRef second = make_resident(devices, 1, DType::kFloat, {2});
  const ValueRef other = make_resident(devices, 2, DType::kFloat, {2});
  copy_across(*floats({1, 2}), *first);
  EXPECT_THAT(read(*first), ElementsAre(1, 2));
  copy_across(*first, *second);
  EXPECT_THAT(read(*second), ElementsAre(1, 2));
  copy_across(*first, *other);
  EXPECT_THAT(read(*other), ElementsAre(1, 2));
  EXPECT_EQ(WorkingProvider::counts.copies[GANTRY_COPY_WITHIN_DEVICE], 1U);
}

TEST_F(ResidentTest, MemoryGoesBackWithTheTensor) {
  make_resident(program_.shared_devices(), 1, DType::kFloat, {1000});
  EXPECT_EQ(program_.devices().space(1).used(), 0U);
}

TEST_F(ResidentTest, ADeviceOfAnotherSessionIsRefused) {
  const auto other = std::make_shared<DeviceTable>();
  const ValueRef value = make_resident(program_.shared_devices(), 1, DType::kFloat, {2});
  expect_error(Code::kInvalidArgument,
               {"is in the memory of MEM:0", "expected host memory or that of a device"},
               [&] { static_cast<void>(space_of(*other, *value)); });
}

TEST_F(ResidentTest, AnErrorOfTheWorkComesOut) {
  expect_error(Code::kInternal, {"what the work says"}, [&] {
    with_stream(program_.devices().space(1),
                [](gantry_stream*) { throw Error(Code::kInternal, "what the work says"); });
  });
}

TEST_F(ResidentTest, ARunReadsAndMakesTensorsWhereTheyLie) {
  TestProgram program("g (float[2] x) => (float[2] y) { a = Neg(x) y = Relu(a) }", {"MEM:0"});
  const auto devices = program.shared_devices();
  Executor& executor = program.start();
  const ValueRef x = make_resident(devices, 1, DType::kFloat, {2});
  const ValueRef y = make_resident(devices, 1, DType::kFloat, {2});
  copy_across(*floats({1, -2}), *x);
  const auto before = WorkingProvider::counts.copies;
  for (int i = 0; i < 3; ++i) {
    std::vector<ValueRef> outputs = {y};
    executor.run(std::vector<ValueRef>{x}, outputs, {});
    EXPECT_EQ(outputs[0], y);
  }
  EXPECT_EQ(WorkingProvider::counts.copies, before);
  EXPECT_THAT(read(*y), ElementsAre(0, 2));
}

}  // namespace
}  // namespace gantry
