// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "pass_test.h"

namespace gantry {
namespace {

constexpr char kRemoved[] = "  %y = Abs-13(%x) : float32[N]\n";

TEST(Dropout, InInferenceModeIsRemoved) {
  test::expect_pass("dropout", "g (float[N] x) => (float[N] y) { a, m = Dropout(x) y = Abs(a) }",
                    kRemoved);
  test::expect_pass("dropout", R"(
      g (float[N] x) => (float[N] y) {
        r = Constant <value_float = 0.5> ()
        t = Constant <value = bool {0}> ()
        a = Dropout(x, r, t)
        y = Abs(a)
      })",
                    kRemoved);
}

TEST(Dropout, StaysInTrainingMode) {
  test::expect_pass("dropout", R"(
      g (float[N] x) => (float[N] y) {
        t = Constant <value = bool {1}> ()
        a = Dropout(x, , t)
        y = Abs(a)
      })",
                    R"(  %t = bool[] {true}
  %a = Dropout-13(%x, _, %t) : float32[N]
  %y = Abs-13(%a) : float32[N]
)");
  test::expect_pass("dropout",
                    "g (float[N] x, bool t) => (float[N] y) { a = Dropout(x, , t) y = Abs(a) }",
                    R"(  %a = Dropout-13(%x, _, %t) : float32[N]
  %y = Abs-13(%a) : float32[N]
)");
}

TEST(Dropout, StaysIfItsMaskIsRead) {
  test::expect_pass("dropout",
                    "g (float[N] x) => (float[N] y, bool[N] m) { a, m = Dropout(x) y = Abs(a) }",
                    R"(  %a, %m = Dropout-13(%x) : float32[N], bool[N]
  %y = Abs-13(%a) : float32[N]
)");
}

TEST(Dropout, OfOldOpsetsSaysItsModeInAnAttribute) {
  const std::string head =
      "<ir_version: 3, opset_import: [\"\" : 6]> g (float[N] x) => (float[N] y) { ";
  test::expect_pass("dropout", head + "a = Dropout <is_test = 1> (x) y = Abs(a) }",
                    "  %y = Abs-6(%x) : float32[N]\n");
  test::expect_pass("dropout", head + "a = Dropout(x) y = Abs(a) }",
                    R"(  %a = Dropout-6(%x) : float32[N]
  %y = Abs-6(%a) : float32[N]
)");
}

}  // namespace
}  // namespace gantry
