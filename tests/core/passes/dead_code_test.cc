// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "pass_test.h"

namespace gantry {
namespace {

TEST(DeadCode, WholeChainsGo) {
  test::expect_pass("dead_code", R"(
      g (float[1] x) => (float[1] y) {
        c = Constant <value_floats = [2.0]> ()
        a = Add(x, c)
        b = Neg(a)
        y = Abs(x)
      })",
                    "  %y = Abs-13(%x) : float32[1]\n");
}

TEST(DeadCode, WhatIsReadStays) {
  test::expect_pass("dead_code", R"(
      g (bool b, float[N] x) => (float[N] y) {
        a = Relu(x)
        y = If (b) <then_branch = t () => (float[N] s) { s = Neg(a) },
                    else_branch = e () => (float[N] u) { u = Neg(x) }>
      })",
                    R"(  %a = Relu-14(%x) : float32[N]
  %y = If-16(%b) captures (%a, %x) {then_branch = graph t() captures (%a : float32[N], _) -> (%s) {
    %s = Neg-13(%a) : float32[N]
  }, else_branch = graph e() captures (_, %x : float32[N]) -> (%u) {
    %u = Neg-13(%x) : float32[N]
  }} : float32[N]
)");
}

}  // namespace
}  // namespace gantry
