// SPDX-License-Identifier: Apache-2.0
// Level 3, first part: claims of ordinary graphs have an answer for each node, the same one every
// time, and change nothing.
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
  (void)ask(provider, subject, device, view);  // what is made once
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
}

}  // namespace gantry::checks
