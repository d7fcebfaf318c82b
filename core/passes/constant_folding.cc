// SPDX-License-Identifier: Apache-2.0
// Computes nodes that depend on constants only. A Reshape of a constant becomes a view of the same
// memory. All other such nodes of a graph are evaluated together or, if that fails, one by one.
// Random operators are not folded, nor nodes that would turn little data into much.
//
//   %s = int64[2] {2, 3}
//   %z = ConstantOfShape-9(%s)   =>   %z = float32[2,3] {0, 0, 0, 0, 0, 0}
//   %y = Add-14(%x, %z)               %y = Add-14(%x, %z)
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/value.h"
#include "passes/pipeline.h"
#include "passes/replace.h"

namespace gantry {
namespace {

constexpr uint64_t kLargeBytes = uint64_t{1} << 30;
constexpr uint64_t kGrowth = 16;

uint64_t known_bytes(const std::vector<GraphValue*>& values) {
  uint64_t bytes = 0;
  for (const GraphValue* value : values) {
    if (!value || !value->type.has_rank) continue;
    const std::vector<int64_t>& shape = value->type.shape;
    if (std::find(shape.begin(), shape.end(), -1) != shape.end()) continue;
    bytes += bytes_of(value->type.dtype, element_count(shape));
  }
  return bytes;
}

bool grows_too_large(const Node& node) {
  const uint64_t made = known_bytes(node.outputs);
  return made > kLargeBytes && made / kGrowth > known_bytes(node.inputs);
}

// A graph of the selected nodes only, which borrows their attributes during its life.
class Extract {
 public:
  Extract(const Graph& graph, std::vector<Node*> nodes) : nodes_(std::move(nodes)) {
    const std::unordered_set<const Node*> chosen(nodes_.begin(), nodes_.end());
    extract_.name = graph.name;
    for (Node* node : nodes_) {
      Node* copy = extract_.add_node(node->op_type, node->domain, node->since_version, node->name);
      copy->overload = node->overload;
      copy->attributes = std::move(node->attributes);
      for (GraphValue* value : node->inputs)
        extract_.add_input(copy, value ? constant(value) : nullptr);
      for (GraphValue* value : node->outputs) {
        extract_.add_output(copy, value ? define(value) : nullptr);
        if (value && is_read_outside(*value, chosen)) results_.push_back(value);
      }
    }
    std::vector<GraphValue*> outputs;
    for (const GraphValue* value : results_) outputs.push_back(values_.at(value));
    extract_.set_outputs(std::move(outputs));
    extract_.renumber();
  }
  ~Extract() {
    for (size_t i = 0; i < nodes_.size(); ++i)
      nodes_[i]->attributes = std::move(extract_.nodes()[i]->attributes);
  }
  Extract(const Extract&) = delete;
  Extract& operator=(const Extract&) = delete;

  [[nodiscard]] const Graph& graph() const { return extract_; }
  /// The values of the original graph for the outputs of the extract.
  [[nodiscard]] const std::vector<GraphValue*>& results() const { return results_; }

 private:
  static bool is_read_outside(const GraphValue& value,
                              const std::unordered_set<const Node*>& chosen) {
    return value.is_output() ||
           std::any_of(value.users.begin(), value.users.end(),
                       [&](const Node* user) { return !chosen.contains(user); });
  }

  GraphValue* constant(const GraphValue* value) {
    auto [entry, is_new] = values_.try_emplace(value, nullptr);
    if (is_new) entry->second = extract_.add_constant(value->name, value->constant);
    return entry->second;
  }

  GraphValue* define(const GraphValue* value) {
    return values_[value] = extract_.add_value(value->name, value->type);
  }

  std::vector<Node*> nodes_;
  Graph extract_;
  std::unordered_map<const GraphValue*, GraphValue*> values_;
  std::vector<GraphValue*> results_;
};

// True for nodes whose output is their first input in another shape.
bool only_changes_shape(const Node& node) {
  constexpr std::array<std::string_view, 4> kNames = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"};
  return node.domain.empty() &&
         std::find(kNames.begin(), kNames.end(), node.op_type) != kNames.end();
}

class Folder {
 public:
  Folder(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool run() {
    const bool has_reshaped = reshape_constants();
    if (has_reshaped) graph_.sweep();
    const std::vector<Node*> nodes = collect();
    const bool has_folded = !nodes.empty() && fold_all(nodes);
    if (has_folded) graph_.sweep();
    return has_reshaped || has_folded;
  }

 private:
  static bool has_constant_inputs(const Node& node) {
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [](const GraphValue* value) { return !value || value->constant; });
  }

  // Folds nodes that only change the shape to views; a kernel would copy the elements.
  bool reshape_constants() {
    bool changed = false;
    for (const auto& node : graph_.nodes()) {
      if (!only_changes_shape(*node) || !has_constant_inputs(*node) || is_left(*node)) continue;
      if (node->inputs.empty() || !node->inputs[0] || node->outputs.size() != 1) continue;
      GraphValue* output = node->outputs[0];
      ValueRef view = output && output->type.has_rank
                          ? reshaped(node->inputs[0]->constant, output->type.shape)
                          : nullptr;
      if (!view) continue;
      graph_.remove_node(node.get());
      make_constant(output, std::move(view));
      changed = true;
    }
    return changed;
  }

  bool fold_all(const std::vector<Node*>& nodes) {
    bool changed = fold(nodes);
    if (changed || nodes.size() == 1) return changed;
    for (Node* node : nodes) changed |= has_constant_inputs(*node) && fold({node});
    return changed;
  }

  [[nodiscard]] bool is_left(const Node& node) const {
    return (context_.is_kept && context_.is_kept(node)) ||
           (context_.is_nondeterministic && context_.is_nondeterministic(node));
  }

  // Nodes that depend on constants only, directly or through each other.
  std::vector<Node*> collect() const {
    std::vector<Node*> nodes;
    std::unordered_set<const GraphValue*> known;
    for (const auto& node : graph_.nodes()) {
      const bool is_known =
          std::all_of(node->inputs.begin(), node->inputs.end(), [&](const GraphValue* value) {
            return !value || value->constant || known.contains(value);
          });
      if (!is_known || !node->captures.empty() || grows_too_large(*node)) continue;
      if (is_left(*node)) continue;
      nodes.push_back(node.get());
      known.insert(node->outputs.begin(), node->outputs.end());
    }
    return nodes;
  }

  bool fold(const std::vector<Node*>& nodes) {
    std::vector<GraphValue*> targets;
    std::vector<ValueRef> results;
    {
      const Extract extract(graph_, nodes);
      targets = extract.results();
      if (targets.empty()) return false;  // dead code, which dead_code.cc removes
      results = context_.evaluate(extract.graph());
    }
    if (results.size() != targets.size()) return false;
    for (Node* node : nodes) graph_.remove_node(node);
    for (size_t i = 0; i < targets.size(); ++i) make_constant(targets[i], std::move(results[i]));
    return true;
  }

  Graph& graph_;
  const PassContext& context_;
};

}  // namespace

bool fold_constants(Graph& graph, const PassContext& context) {
  return context.evaluate && Folder(graph, context).run();
}

}  // namespace gantry
