// SPDX-License-Identifier: Apache-2.0
// Inlines the taken branch of an If whose condition is a constant.
//
//   %b = bool[] {true}
//   %y = If-16(%b) captures (%x) {then_branch = ... %t = Abs-13(%x) ...}   =>   %y = Abs-13(%x)
#include <unordered_map>
#include <utility>

#include "passes/pipeline.h"
#include "passes/replace.h"

namespace gantry {
namespace {

// The branch that is always taken; null: the condition is no constant.
Graph* taken_branch(const Node& node) {
  if (node.op_type != "If" || !node.domain.empty() || node.inputs.size() != 1 || !node.inputs[0])
    return nullptr;
  const ValueRef& condition = node.inputs[0]->constant;
  if (!condition || condition->dtype != DType::kBool || condition->view.size_bytes != 1)
    return nullptr;
  const bool is_true = *static_cast<const uint8_t*>(condition->view.data) != 0;
  const Attribute* attribute = node.find(is_true ? "then_branch" : "else_branch");
  const auto* body = attribute ? std::get_if<std::unique_ptr<Graph>>(&attribute->value) : nullptr;
  return body && (*body)->outputs().size() == node.outputs.size() ? body->get() : nullptr;
}

// True if each output of the branch can replace that of the node: it is computed in the branch and
// listed once.
bool fits(const Node& node, const Graph& branch) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i] || !node.outputs[i]->is_output()) continue;
    if (!branch.outputs()[i]->producer) return false;
    for (size_t other = 0; other < i; ++other) {
      if (branch.outputs()[other] == branch.outputs()[i]) return false;
    }
  }
  return true;
}

class Inliner {
 public:
  Inliner(Graph& graph, Node* node, Graph& branch) : graph_(graph), node_(node), branch_(branch) {}

  void run() {
    for (size_t i = 0; i < branch_.captures.size(); ++i) {
      if (branch_.captures[i]) values_[branch_.captures[i]] = node_->captures[i];
    }
    for (const auto& inner : branch_.nodes()) move(*inner);
    for (size_t i = 0; i < node_->outputs.size(); ++i) {
      if (node_->outputs[i]) try_replace(graph_, node_->outputs[i], outside(branch_.outputs()[i]));
    }
    graph_.remove_node(node_);
  }

 private:
  void move(Node& inner) {
    Node* node = graph_.add_node(inner.op_type, inner.domain, inner.since_version, inner.name);
    node->overload = inner.overload;
    node->attributes = std::move(inner.attributes);
    for (GraphValue* value : inner.inputs) graph_.add_input(node, value ? outside(value) : nullptr);
    for (GraphValue* value : inner.captures) graph_.add_capture(node, outside(value));
    for (GraphValue* value : inner.outputs)
      graph_.add_output(node, value ? outside(value) : nullptr);
  }

  // The outer graph's value for one of the branch.
  GraphValue* outside(const GraphValue* inner) {
    GraphValue*& value = values_[inner];
    if (!value) {
      value = inner->constant ? graph_.add_constant(inner->name, inner->constant)
                              : graph_.add_value(inner->name, inner->type);
    }
    return value;
  }

  Graph& graph_;
  Node* node_;
  Graph& branch_;
  std::unordered_map<const GraphValue*, GraphValue*> values_;
};

}  // namespace

bool inline_constant_if(Graph& graph, const PassContext&) {
  bool changed = false;
  const size_t count = graph.nodes().size();
  for (size_t i = 0; i < count; ++i) {  // by index: inlining appends nodes
    Node* node = graph.nodes()[i].get();
    Graph* branch = taken_branch(*node);
    if (!branch || !fits(*node, *branch)) continue;
    Inliner(graph, node, *branch).run();
    changed = true;
  }
  if (changed) {
    graph.sweep();
    graph.sort();
  }
  return changed;
}

}  // namespace gantry
