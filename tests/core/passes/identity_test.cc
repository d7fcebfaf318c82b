// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "pass_test.h"

namespace gantry {
namespace {

TEST(Identity, IsRemovedBetweenNodes) {
  test::expect_pass("identity",
                    "g (float[N] x) => (float[N] y) { a = Relu(x) b = Identity(a) y = Add(b, b) }",
                    R"(  %a = Relu-14(%x) : float32[N]
  %y = Add-14(%a, %a) : float32[N]
)");
}

TEST(Identity, LeavesItsNameToAnOutput) {
  test::expect_pass("identity", "g (float[N] x) => (float[N] y) { a = Relu(x) y = Identity(a) }",
                    R"(  %y = Relu-14(%x) : float32[N]
)");
}

TEST(Identity, StaysWhereAnOutputWouldLoseItsName) {
  test::expect_pass("identity", "g (float[N] x) => (float[N] y) { y = Identity(x) }",
                    R"(  %y = Identity-16(%x) : float32[N]
)");
  test::expect_pass("identity",
                    "g (float[N] x) => (float[N] a, float[N] y) { a = Relu(x) y = Identity(a) }",
                    R"(  %a = Relu-14(%x) : float32[N]
  %y = Identity-16(%a) : float32[N]
)");
}

TEST(Identity, IsRemovedBehindAConstant) {
  test::expect_pass("identity", R"(
      g (float[1] x) => (float[1] y) {
        c = Constant <value_floats = [1.0]> ()
        d = Identity(c)
        y = Add(x, d)
      })",
                    R"(  %c = float32[1] {1}
  %y = Add-14(%x, %c) : float32[1]
)");
}

}  // namespace
}  // namespace gantry
