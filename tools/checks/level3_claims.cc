// SPDX-License-Identifier: Apache-2.0
// Level 3, first part: a claim of an ordinary graph claims or refuses each node, is deterministic,
// and does not change the graph.
#include "claims.h"
#include "levels.h"
#include "open_provider.h"
#include "operators.h"
#include "progress.h"

namespace gantry::checks {
namespace {

// Every operator of ONNX once, on two inputs of that type.
TestGraph every_operator(uint32_t dtype) {
  TestGraph graph;
  const uint32_t x = graph.add_input(dtype, {2, 3, 8, 8});
  const uint32_t y = graph.add_input(dtype, {2, 3, 8, 8});
  for (const OnnxOperator& row : onnx_operators())
    graph.add_node(row.op_type, row.domain, row.since_version, {x, y}, 1, dtype);
  return graph;
}

void answers_each_node(const Subject& subject) {
  const OpenProvider provider(subject);
  const TestDevice device = provider.device();
  for (const uint32_t dtype : {GANTRY_FLOAT, GANTRY_INT64, GANTRY_FLOAT16, GANTRY_STRING}) {
    note_progress("claim of every ONNX operator with element type " + std::to_string(dtype));
    TestGraph graph = every_operator(dtype);
    const gantry_graph* view = graph.view();
    const TestAnswer answer = ask(provider, subject, device.index, view);
    if (answer.error.empty()) expect_sound(answer, view);
  }
}

void answers_unknown_operators(const Subject& subject) {
  const OpenProvider provider(subject);
  TestGraph graph;
  const uint32_t x = graph.add_input(GANTRY_FLOAT, {4});
  graph.add_node("OperatorThatNobodyHas", "com.example", 1, {x}, 1, GANTRY_FLOAT);
  graph.add_node("Relu", "com.example", 14, {x}, 1, GANTRY_FLOAT);
  const gantry_graph* view = graph.view();
  const TestAnswer answer = ask(provider, subject, provider.device().index, view);
  expect(answer.error.empty() && !answer.refusals[0].empty(),
         "claim of an operator that nobody has: expected a refusal with a reason, found " +
             (answer.error.empty() ? "none" : answer.error),
         "refuse what you do not know with gantry_claim_sink.refuse; an error refuses the whole "
         "graph");
  expect(answer.row_of(1) == nullptr,
         "claim of com.example::Relu: expected a refusal, found a claim",
         "compare gantry_node.domain, too: \"\" is ai.onnx");
}

void answers_the_same(const Subject& subject) {
  const OpenProvider provider(subject);
  const uint32_t device = provider.device().index;
  TestGraph graph = every_operator(GANTRY_FLOAT);
  const gantry_graph* view = graph.view();
  const TestAnswer first = ask(provider, subject, device, view);
  TestGraph between = every_operator(GANTRY_INT64);
  (void)ask(provider, subject, device, between.view());
  expect(first == ask(provider, subject, device, view),
         "claim: expected the same answer to the same question, found another one",
         "let claim depend on the graph, the device and the options alone");
}

void answers_the_same_in_a_new_provider(const Subject& subject) {
  TestGraph graph = every_operator(GANTRY_FLOAT);
  const gantry_graph* view = graph.view();
  TestAnswer first;
  for (int i = 0; i < 2; ++i) {
    const OpenProvider provider(subject);
    const TestAnswer answer = ask(provider, subject, provider.device().index, view);
    if (i == 0) first = answer;
    expect(first == answer,
           "claim: expected the same answer of a provider that was made again, found another one",
           "keep nothing from one provider object to the next that claims depend on");
  }
}

void changes_nothing(const Subject& subject) {
  const OpenProvider provider(subject);
  const uint32_t device = provider.device().index;
  TestGraph graph = every_operator(GANTRY_FLOAT);
  const gantry_graph* view = graph.view();
  (void)ask(provider, subject, device, view);  // creates what a process creates once
  const std::string content = graph.content();
  const HostCounts before = host_counts();
  for (int i = 0; i < 4; ++i) (void)ask(provider, subject, device, view);
  const HostCounts after = host_counts();
  expect(content == graph.content(),
         "claim: expected the graph to stay as it was, found it changed",
         "never write through the graph's pointers");
  expect(before.bytes == after.bytes && before.packed == after.packed &&
             before.values == after.values && before.errors == after.errors,
         "claim: expected nothing to be kept, found " + std::to_string(after.bytes - before.bytes) +
             " bytes, " + std::to_string(after.values - before.values) + " values and " +
             std::to_string(after.errors - before.errors) + " errors more after four calls",
         "keep nothing of a claim that was not granted: it is asked many times");
}

// True if a path between two nodes of the row leads through a node outside it.
bool closes_a_cycle(const TestClaim& row, const gantry_graph& graph) {
  std::vector<bool> is_in(graph.node_count, false);
  for (const uint32_t node : row.nodes) is_in[node] = true;
  std::vector<bool> is_behind(graph.node_count, false);  // reached through a node outside the row
  for (uint32_t node = 0; node < graph.node_count; ++node) {
    const gantry_node& view = *graph.nodes[node];
    bool is_after = false;  // after a node of the row, directly or indirectly
    for (uint32_t i = 0; i < view.input_count; ++i) {
      const uint32_t producer =
          view.inputs[i] == GANTRY_NONE ? GANTRY_NONE : graph.values[view.inputs[i]]->producer;
      if (producer == GANTRY_NONE) continue;
      if (is_in[node] && is_behind[producer]) return true;
      is_after = is_after || is_in[producer] || is_behind[producer];
    }
    is_behind[node] = !is_in[node] && is_after;
  }
  return false;
}

void leaves_no_cycle(const Subject& subject) {
  const OpenProvider provider(subject);
  const uint32_t device = provider.device().index;
  for (const OnnxOperator& row : onnx_operators()) {
    note_progress(std::string("claim of ") + row.op_type + " around a node that nobody has");
    TestGraph graph;
    const uint32_t x = graph.add_input(GANTRY_FLOAT, {2, 3, 8, 8});
    const auto add = [&](const char* op_type, const char* domain, int32_t version, uint32_t input) {
      const uint32_t node = graph.add_node(op_type, domain, version, {input, x}, 1, GANTRY_FLOAT);
      return graph.outputs_of(node).front();
    };
    uint32_t last = add(row.op_type, row.domain, row.since_version, x);
    last = add(row.op_type, row.domain, row.since_version, last);
    last = add("OperatorThatNobodyHas", "com.example", 1, last);
    add(row.op_type, row.domain, row.since_version, last);
    const gantry_graph* view = graph.view();
    const TestAnswer answer = ask(provider, subject, device, view);
    if (!answer.error.empty()) continue;
    for (const TestClaim& claim : answer.rows) {
      const bool is_parted = (claim.flags & GANTRY_CLAIM_DIVISIBLE) != 0;  // by the core
      expect(is_parted || !closes_a_cycle(claim, *view),
             std::string("claim of ") + row.op_type +
                 ": expected a set that can run as one step, " +
                 "found one with which the graph would have a cycle: its last node reads what a " +
                 "node outside makes of the others",
             "end a set where a value leaves it for a node that is not in it and comes back, or "
             "flag it with GANTRY_CLAIM_DIVISIBLE");
    }
  }
}

}  // namespace

void add_claim_checks(Checks& checks, const Subject& subject) {
  const auto add = [&](const char* name, const char* duty, void (*run)(const Subject&)) {
    checks.push_back({3, name, duty, [run, &subject] { run(subject); }});
  };
  add("claims.answer-each-node", "P14", answers_each_node);
  add("claims.answer-unknown-operators", "P14", answers_unknown_operators);
  add("claims.are-repeatable", "P13", answers_the_same);
  add("claims.do-not-depend-on-the-object", "P13", answers_the_same_in_a_new_provider);
  add("claims.change-nothing", "P13", changes_nothing);
  add("claims.leave-no-cycle", "P14", leaves_no_cycle);
}

}  // namespace gantry::checks
