// SPDX-License-Identifier: Apache-2.0
// Takes out of the state of a Loop or Scan what each iteration hands on unchanged: the body
// captures it instead. Exporters carry weights so, which then are constants of the body.
//
//   %y, %w_last = Loop-16(%n, %t, %x, %w) {body = (%i, %c, %h, %v) -> (%c, %next, %v) {...}}
//   =>   %y = Loop-16(%n, %t, %x) captures (%w) {body = (%i, %c, %h) captures (%v) -> (%c, %next)}
//        with %w in place of %w_last
#include <utility>

#include "passes/pattern.h"
#include "passes/pipeline.h"
#include "passes/replace.h"

namespace gantry {
namespace {

// Where a node with a body has its state. Its inputs, those of the body, and the outputs of both
// have it in one order.
struct State {
  Graph* body = nullptr;     // null: no loop
  size_t count = 0;          // of state values
  size_t first_input = 0;    // of the node and of the body
  size_t first_outcome = 0;  // of the body's outputs
};

State state_of(const Node& node) {
  if (!node.domain.empty()) return {};
  const std::vector<Graph*> bodies = node.bodies();
  if (bodies.size() != 1) return {};
  State state{bodies[0]};
  if (node.op_type == "Loop" && node.inputs.size() >= 2) {
    state.first_input = 2;  // after the trip count, in the body the iteration, and the condition
    state.first_outcome = 1;
    state.count = node.inputs.size() - 2;
  } else if (node.op_type == "Scan" && node.since_version >= 9) {  // before, all have a batch axis
    const auto scanned = node.get<int64_t>("num_scan_inputs", 0);
    const auto inputs = static_cast<int64_t>(node.inputs.size());
    if (scanned < 0 || scanned > inputs) return {};
    state.count = static_cast<size_t>(inputs - scanned);
  } else {
    return {};
  }
  const bool is_whole = state.body->inputs.size() == node.inputs.size() &&
                        state.body->outputs().size() >= state.first_outcome + state.count &&
                        node.outputs.size() + state.first_outcome == state.body->outputs().size();
  return is_whole ? state : State{};
}

const GraphValue* behind_identities(const GraphValue* value) {
  while (value && value->producer && is_operator(*value->producer, "Identity", 1))
    value = value->producer->inputs[0];
  return value;
}

bool is_invariant(const Node& node, const State& state, size_t index) {
  const GraphValue* initial = node.inputs[state.first_input + index];
  const GraphValue* inside = state.body->inputs[state.first_input + index];
  return initial && inside &&
         behind_identities(state.body->outputs()[state.first_outcome + index]) == inside;
}

// A node like `old` without the state values of `is_taken`.
void make_without(Graph& graph, Node* old, const State& state, const std::vector<bool>& is_taken) {
  const auto is_kept = [&](size_t position, size_t first) {
    return position < first || position >= first + state.count || !is_taken[position - first];
  };
  const std::vector<GraphValue*> inputs = old->inputs;
  const std::vector<GraphValue*> captures = old->captures;
  const std::vector<GraphValue*> outputs = old->outputs;
  Node* node = graph.add_node(old->op_type, old->domain, old->since_version, old->name);
  std::swap(node->name, old->name);  // rules and profiles know it by its name
  node->overload = old->overload;
  node->attributes = std::move(old->attributes);
  graph.remove_node(old);
  Graph& body = *state.body;
  std::vector<GraphValue*> body_inputs;
  std::vector<GraphValue*> body_outputs;
  for (GraphValue* value : captures) graph.add_capture(node, value);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_kept(i, state.first_input)) {
      graph.add_input(node, inputs[i]);
      body_inputs.push_back(body.inputs[i]);
    } else {
      graph.add_capture(node, inputs[i]);
      body.captures.push_back(body.inputs[i]);
      body.inputs[i]->type = inputs[i]->type;
    }
  }
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    if (is_kept(i, state.first_outcome)) body_outputs.push_back(body.outputs()[i]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (is_kept(i, 0)) {
      graph.add_output(node, outputs[i]);
      continue;
    }
    GraphValue* initial = inputs[state.first_input + i];
    if (!outputs[i] || try_replace(graph, outputs[i], initial)) continue;
    Node* copy = graph.add_node("Identity", "", 16, node->name + "_unchanged");
    graph.add_input(copy, initial);
    graph.add_output(copy, outputs[i]);
  }
  body.inputs = std::move(body_inputs);
  body.set_outputs(std::move(body_outputs));
  body.sweep();
}

}  // namespace

bool capture_loop_invariants(Graph& graph, const PassContext&) {
  bool changed = false;
  const size_t count = graph.nodes().size();
  for (size_t i = 0; i < count; ++i) {  // by index: nodes are appended
    Node* node = graph.nodes()[i].get();
    const State state = state_of(*node);
    if (!state.body) continue;
    std::vector<bool> is_taken(state.count, false);
    size_t kept = node->outputs.size();
    for (size_t index = 0; index < state.count && kept > 1; ++index) {
      is_taken[index] = is_invariant(*node, state, index);
      if (is_taken[index]) --kept;
    }
    if (kept == node->outputs.size()) continue;
    make_without(graph, node, state, is_taken);
    changed = true;
  }
  if (changed) {
    graph.sweep();
    graph.sort();
  }
  return changed;
}

}  // namespace gantry
