// SPDX-License-Identifier: Apache-2.0
#include "program/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_program.h"

namespace gantry {
namespace {

using test::TestProgram;
using test::value_named;
using test::WorkingProvider;
using testing::ElementsAre;

gantry_format order(std::vector<uint32_t> axes) {
  gantry_format format = {};
  format.size = sizeof(format);
  format.rank = static_cast<uint32_t>(axes.size());
  std::copy(axes.begin(), axes.end(), format.order);
  return format;
}

const gantry_format kColumns = order({1, 0});

class FormatsTest : public testing::Test {
 protected:
  FormatsTest() { WorkingProvider::reset(); }
  static constexpr const char* kTwo =
      "g (float[2, 3] x) => (float[2, 3] y) { [n] a = Neg(x) [r] y = Relu(a) }";
};

TEST_F(FormatsTest, AreTheSameWhereOrderAndBlockAre) {
  gantry_format blocked = kColumns;
  blocked.block_extent = 16;
  gantry_format other_axis = kColumns;
  other_axis.block_axis = 1;  // means nothing without a block
  EXPECT_TRUE(is_same(kColumns, other_axis));
  EXPECT_FALSE(is_same(kColumns, order({0, 1})));
  EXPECT_FALSE(is_same(kColumns, blocked));
}

TEST_F(FormatsTest, AValueGetsTheOrderThatItsMakerOffersAndItsReaderTakes) {
  WorkingProvider::behaviours["n"].formats = {kColumns};
  WorkingProvider::behaviours["r"].formats = {kColumns};
  const TestProgram program(kTwo);
  const auto formats = assign_formats(program.placement());
  ASSERT_EQ(formats.size(), 1U);  // the output is dense
  EXPECT_TRUE(is_same(formats.at(value_named(program.graph(), "a")), kColumns));
  EXPECT_THAT(program.outline(), ElementsAre("Neg(x)>a", "Relu(a)>y"));
}

TEST_F(FormatsTest, AValueThatNobodyTakesInAnotherOrderIsDense) {
  WorkingProvider::behaviours["n"].formats = {kColumns};
  EXPECT_TRUE(assign_formats(TestProgram(kTwo).placement()).empty());
}

TEST_F(FormatsTest, AReaderThatWantsItDenseGetsAReorder) {
  WorkingProvider::behaviours["n"].formats = {kColumns};
  WorkingProvider::behaviours["r"].formats = {kColumns};
  const TestProgram program(
      "g (float[2, 3] x) => (float[2, 3] y, float[2, 3] z)"
      " { [n] a = Neg(x) [r] y = Relu(a) [d] z = Identity(a) }");
  EXPECT_THAT(program.outline(),
              ElementsAre("Neg(x)>a", "Relu(a)>y", "reorder(a)>a", "Identity(a)>z"));
}

TEST_F(FormatsTest, AnOrderOfAnotherRankIsNotGranted) {
  WorkingProvider::behaviours["n"].formats = {order({2, 1, 0})};
  WorkingProvider::behaviours["r"].formats = {order({2, 1, 0})};
  EXPECT_TRUE(assign_formats(TestProgram(kTwo).placement()).empty());
}

TEST_F(FormatsTest, AReaderOnAnotherDeviceGetsItDense) {
  WorkingProvider::behaviours["n"].formats = {kColumns};
  WorkingProvider::behaviours["r"].formats = {kColumns};
  const TestProgram program(kTwo, {"HST", "MEM:0"}, {{"r", "MEM:0"}});
  EXPECT_TRUE(assign_formats(program.placement()).empty());
}

}  // namespace
}  // namespace gantry
