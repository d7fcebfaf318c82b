// SPDX-License-Identifier: Apache-2.0
// Scan, of the main axis and of others, forwards and backwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_program.h"

namespace gantry {
namespace {

using test::floats;
using test::TestProgram;
using test::WorkingProvider;
using testing::ElementsAre;

class ScanTest : public testing::Test {
 protected:
  ScanTest() { WorkingProvider::reset(); }

  // Running sums of the slices of x [3, 2]; also minus each sum.
  static std::vector<std::vector<float>> sums(const std::string& attributes,
                                              const std::string& slices = "float[2]",
                                              const std::string& start = "float[2]",
                                              size_t start_size = 2) {
    TestProgram program("g (" + start + " s, float[3, 2] x) => (" + start +
                        " last, float[A, B] all) { last, all = Scan (s, x) <num_scan_inputs = 1, " +
                        attributes + "body = b (" + start + " before, " + slices + " slice) => (" +
                        start + " after, " + start +
                        " each) { after = Add(before, slice) each = Neg(after) }> }");
    Executor& executor = program.start();
    const ValueRef x = make_tensor(DType::kFloat, {3, 2});
    const float elements[] = {1, 2, 3, 4, 5, 6};
    std::memcpy(x->view.data, elements, sizeof(elements));
    std::vector<std::vector<float>> first;
    for (int i = 0; i < 3; ++i) {
      auto outputs = test::run(executor, {floats(std::vector<float>(start_size, 0)), x});
      if (i > 0) {
        EXPECT_EQ(outputs, first);
      }
      first = std::move(outputs);
    }
    return first;
  }
};

TEST_F(ScanTest, CarriesAndCollects) {
  EXPECT_THAT(sums(""), ElementsAre(ElementsAre(9, 12), ElementsAre(-1, -2, -4, -6, -9, -12)));
}

TEST_F(ScanTest, BackwardsInAndOut) {
  EXPECT_THAT(sums("scan_input_directions = [1], "),
              ElementsAre(ElementsAre(9, 12), ElementsAre(-5, -6, -8, -10, -9, -12)));
  EXPECT_THAT(sums("scan_output_directions = [1], "),
              ElementsAre(ElementsAre(9, 12), ElementsAre(-9, -12, -4, -6, -1, -2)));
}

TEST_F(ScanTest, AlongAnotherAxis) {
  EXPECT_THAT(sums("scan_input_axes = [1], ", "float[3]", "float[3]", 3),
              ElementsAre(ElementsAre(3, 7, 11), ElementsAre(-1, -3, -5, -3, -7, -11)));
  EXPECT_THAT(sums("scan_output_axes = [1], "),
              ElementsAre(ElementsAre(9, 12), ElementsAre(-1, -4, -9, -2, -6, -12)));
}

}  // namespace
}  // namespace gantry
