// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "pass_test.h"

namespace gantry {
namespace {

std::string loop(const std::string& body, const std::string& results) {
  return "g (int64 n, bool t, float[2] x, float[2] w) => (" + results +
         ") { y, last = Loop (n, t, x, w) <body = b (int64 i, bool c, float[2] h, float[2] v) => "
         "(" +
         body + "}> }";
}

TEST(LoopInvariants, WhatIsHandedOnUnchangedIsCaptured) {
  const auto graph =
      test::graph_of(loop("bool c, float[2] next, float[2] v) { next = Add(h, v)", "float[2] y"));
  EXPECT_TRUE(test::run_pass("loop_invariants", *graph));
  EXPECT_EQ(
      test::inner_text(*graph),
      R"(  %y = Loop-16(%n, %t, %x) captures (%w) {body = graph b(%i : int64[], %c : bool[], %h : float32[2]) captures (%v : float32[2]) -> (%c, %next) {
    %next = Add-14(%h, %v) : float32[2]
  }} : float32[2]
)");
  EXPECT_FALSE(test::run_pass("loop_invariants", *graph));
}

TEST(LoopInvariants, ACopyIsNoChange) {
  const auto graph = test::graph_of(
      loop("bool c, float[2] next, float[2] u) { s = Identity(v) u = Identity(s) next = Add(h, v)",
           "float[2] y"));
  EXPECT_TRUE(test::run_pass("loop_invariants", *graph));
  EXPECT_EQ(graph->outputs()[0]->producer->captures.size(), 1U);
}

TEST(LoopInvariants, ItsResultIsTheValueThatItBeganWith) {
  const auto graph = test::graph_of(
      loop("bool c, float[2] next, float[2] v) { next = Add(h, v)", "float[2] y, float[2] last"));
  EXPECT_TRUE(test::run_pass("loop_invariants", *graph));
  const GraphValue* last = graph->outputs()[1];
  EXPECT_EQ(last->name, "last");
  EXPECT_EQ(last->producer->op_type, "Identity");
  EXPECT_EQ(last->producer->inputs[0], graph->inputs[3]);
}

TEST(LoopInvariants, WhatChangesOrChangesPlacesStays) {
  for (const char* body : {"bool c, float[2] h, float[2] next) { next = Add(h, v)",
                           "bool c, float[2] v, float[2] h) { unread = Add(h, v)",
                           "bool c, float[2] next, float[2] p) { p = Neg(v) next = Add(h, p)"}) {
    const auto graph = test::graph_of(loop(body, "float[2] y"));
    const bool is_first_kept =
        std::string(body).find("float[2] h, float[2] next") != std::string::npos;
    EXPECT_EQ(test::run_pass("loop_invariants", *graph), is_first_kept) << body;
  }
}

TEST(LoopInvariants, ALoopKeepsOneResult) {
  const auto graph =
      test::graph_of(loop("bool c, float[2] h, float[2] v) { unread = Add(h, v)", "float[2] y"));
  EXPECT_TRUE(test::run_pass("loop_invariants", *graph));
  EXPECT_EQ(graph->nodes()[0]->outputs.size(), 1U);
}

TEST(LoopInvariants, OfAScanTheStateAlone) {
  const auto graph = test::graph_of(
      "g (float[2] x, float[2] w, float[5, 2] s) => (float[2] y, float[5, 2] all) {"
      " y, last, all = Scan <num_scan_inputs = 1, body = b (float[2] h, float[2] v, float[2] e) =>"
      " (float[2] next, float[2] v, float[2] e) { p = Add(h, v) next = Add(p, e) }> (x, w, s) }");
  EXPECT_TRUE(test::run_pass("loop_invariants", *graph));
  const Node& scan = *graph->nodes()[0];
  EXPECT_EQ(scan.inputs.size(), 2U);
  EXPECT_EQ(scan.captures.size(), 1U);
  EXPECT_EQ(scan.outputs.size(), 2U);
  EXPECT_EQ(scan.bodies()[0]->inputs.size(), 2U);
}

}  // namespace
}  // namespace gantry
