// SPDX-License-Identifier: Apache-2.0
#include "passes/layer_normalization.h"

#include <cstring>
#include <vector>

#include "passes/pattern.h"
#include "passes/replace.h"

namespace gantry {
namespace {

struct NormMatch {
  GraphValue* x = nullptr;
  GraphValue* scale = nullptr;
  GraphValue* shift = nullptr;  // null: none
  GraphValue* result = nullptr;
  float epsilon = 0;
};

// The axes of a ReduceMean: an attribute before version 18, an input since.
std::vector<int64_t> axes_of(const Node& node) {
  if (node.since_version < 18) return node.get<std::vector<int64_t>>("axes", {});
  const GraphValue* axes = node.inputs.size() > 1 ? node.inputs[1] : nullptr;
  if (!axes || !axes->constant || axes->constant->dtype != DType::kInt64) return {};
  std::vector<int64_t> list(axes->constant->view.size_bytes / sizeof(int64_t));
  if (!list.empty())
    std::memcpy(list.data(), axes->constant->view.data, list.size() * sizeof(int64_t));
  return list;
}

// What a mean over the last axis, which stays with extent 1, is taken of; null: it is no such mean.
GraphValue* averaged(const GraphValue* value) {
  const Node* node = producer_of(value, "ReduceMean", 1);
  if (!node) node = producer_of(value, "ReduceMean", 2);
  if (!node || node->get<int64_t>("keepdims", 1) != 1) return nullptr;
  const TypeInfo& type = node->inputs[0]->type;
  const std::vector<int64_t> axes = axes_of(*node);
  if (axes.size() != 1 || !type.has_rank) return nullptr;
  const auto last = static_cast<int64_t>(type.shape.size()) - 1;
  return axes[0] == -1 || axes[0] == last ? node->inputs[0] : nullptr;
}

bool is_square(const GraphValue* value, const GraphValue* of) {
  if (const Node* power = producer_of(value, "Pow", 2))
    return power->inputs[0] == of && is_number(power->inputs[1], 2);
  const Node* product = producer_of(value, "Mul", 2);
  return product && product->inputs[0] == of && product->inputs[1] == of;
}

// A constant vector along the last axis of x.
bool is_along_last(const GraphValue* value, const GraphValue* x) {
  return value && value->constant && value->type.shape.size() == 1 &&
         value->type.dtype == x->type.dtype && value->type.shape[0] == x->type.shape.back();
}

bool match_deviation(const Node& sqrt, const GraphValue* difference, NormMatch& match) {
  const Node* sum = producer_of(sqrt.inputs[0], "Add", 2);
  if (!sum) return false;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const std::optional<double> epsilon = number_of(sum->inputs[1 - i]);
    if (!epsilon || !is_square(averaged(sum->inputs[i]), difference)) continue;
    match.epsilon = static_cast<float>(*epsilon);
    return true;
  }
  return false;
}

// `node`: the division of the difference by the deviation.
NormMatch norm_of(const Node& node) {
  NormMatch match;
  if (!is_operator(node, "Div", 2)) return {};
  const GraphValue* difference = node.inputs[0];
  const Node* sub = producer_of(difference, "Sub", 2);
  const Node* sqrt = producer_of(node.inputs[1], "Sqrt", 1);
  if (!sub || !sqrt || averaged(sub->inputs[1]) != sub->inputs[0]) return {};
  match.x = sub->inputs[0];
  if (match.x->type.dtype != DType::kFloat) return {};  // others are averaged in another type
  if (!match_deviation(*sqrt, difference, match)) return {};
  const Node* scaling = only_user(node.outputs[0], "Mul", 2);
  if (!scaling) return {};
  match.scale = other_operand(*scaling, node.outputs[0]);
  if (!is_along_last(match.scale, match.x)) return {};
  match.result = scaling->outputs[0];
  if (const Node* shifting = only_user(match.result, "Add", 2)) {
    GraphValue* shift = other_operand(*shifting, match.result);
    if (is_along_last(shift, match.x)) {
      match.shift = shift;
      match.result = shifting->outputs[0];
    }
  }
  return match;
}

}  // namespace

bool raise_layer_normalization(Graph& graph, const PassContext& context) {
  std::vector<NormMatch> found;
  for (const auto& node : graph.nodes()) {
    const NormMatch match = norm_of(*node);
    if (match.result && have_one_rank(match.x, match.result) &&
        !are_taken_together(context, *node, *match.result->producer))
      found.push_back(match);
  }
  for (const NormMatch& match : found) {
    Node* raised = graph.add_node("LayerNormalization", "", 17, match.result->producer->name);
    raised->attributes.push_back({"axis", int64_t{-1}});
    raised->attributes.push_back({"epsilon", match.epsilon});
    graph.add_input(raised, match.x);
    graph.add_input(raised, match.scale);
    if (match.shift) graph.add_input(raised, match.shift);
    take_over(graph, match.result, raised);
  }
  if (!found.empty()) {
    graph.sweep();
    graph.sort();
  }
  return !found.empty();
}

}  // namespace gantry
