// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "pass_test.h"

namespace gantry {
namespace {

TEST(Casts, CastLikeBecomesCastWhereTheTypeIsKnown) {
  test::expect_pass(
      "casts", "g (float[N] x, float16[M] l) => (float16[N] y) { a = Relu(x) y = CastLike(a, l) }",
      R"(  %a = Relu-14(%x) : float32[N]
  %y = Cast-13(%a) {to = 10} : float16[N]
)");
}

TEST(Casts, CastsToTheSameTypeAreRemoved) {
  test::expect_pass("casts", R"(
      g (float[N] x) => (float[N] y) {
        a = Cast <to = 1> (x)
        b = Relu(a)
        c = CastLike(b, x)
        y = Abs(c)
      })",
                    R"(  %b = Relu-14(%x) : float32[N]
  %y = Abs-13(%b) : float32[N]
)");
}

TEST(Casts, StayWhereAnOutputWouldLoseItsName) {
  test::expect_pass("casts", "g (float[N] x) => (float[N] y) { y = Cast <to = 1> (x) }",
                    R"(  %y = Cast-13(%x) {to = 1} : float32[N]
)");
}

TEST(Casts, ThatChangeTheTypeStay) {
  test::expect_pass("casts", "g (float[N] x) => (double[N] y) { y = Cast <to = 11> (x) }",
                    R"(  %y = Cast-13(%x) {to = 11} : float64[N]
)");
}

}  // namespace
}  // namespace gantry
