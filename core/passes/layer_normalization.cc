// SPDX-License-Identifier: Apache-2.0
// Fuses exporters' pattern of layer normalization over the last axis, with the scale and the shift
// that follow, to the operator LayerNormalization (ai.onnx opset 17).
//
//   %m = ReduceMean-13(%x) {axes = [-1]}
//   %d = Sub-14(%x, %m)
//   %q = Pow-15(%d, %two)
//   %v = ReduceMean-13(%q) {axes = [-1]}
//   %e = Add-14(%v, %epsilon)
//   %s = Sqrt-13(%e)
//   %n = Div-14(%d, %s)
//   %g = Mul-14(%n, %scale)
//   %y = Add-14(%g, %shift)    =>   %y = LayerNormalization-17(%x, %scale, %shift) {axis = -1, ...}
#include "passes/fuse_pattern.h"
#include "passes/pattern.h"

namespace gantry {
namespace {

struct NormMatch {
  GraphValue* x = nullptr;
  GraphValue* scale = nullptr;
  GraphValue* shift = nullptr;  // null: none
  GraphValue* result = nullptr;
  float epsilon = 0;
};

bool match_deviation(const Node& sqrt, const GraphValue* difference, NormMatch& match) {
  const Node* sum = producer_of(sqrt.inputs[0], "Add", 2);
  if (!sum) return false;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const std::optional<double> epsilon = number_of(sum->inputs[1 - i]);
    if (!epsilon || !is_square_of(averaged_over_last(sum->inputs[i]), difference)) continue;
    match.epsilon = static_cast<float>(*epsilon);
    return true;
  }
  return false;
}

// `node`: the Div of the difference by the standard deviation.
NormMatch norm_of(const Node& node) {
  NormMatch match;
  if (!is_operator(node, "Div", 2)) return {};
  const GraphValue* difference = node.inputs[0];
  const Node* sub = producer_of(difference, "Sub", 2);
  const Node* sqrt = producer_of(node.inputs[1], "Sqrt", 1);
  if (!sub || !sqrt || averaged_over_last(sub->inputs[1]) != sub->inputs[0]) return {};
  match.x = sub->inputs[0];
  if (match.x->type.dtype != DType::kFloat) return {};  // the operator computes others in float32
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
  return have_one_rank(match.x, match.result) ? match : NormMatch{};
}

Node* make_normalization(Graph& graph, const NormMatch& match) {
  Node* node = graph.add_node("LayerNormalization", "", 17, match.result->producer->name);
  node->attributes.push_back({"axis", int64_t{-1}});
  node->attributes.push_back({"epsilon", match.epsilon});
  graph.add_input(node, match.x);
  graph.add_input(node, match.scale);
  if (match.shift) graph.add_input(node, match.shift);
  return node;
}

}  // namespace

bool fuse_layer_normalization(Graph& graph, const PassContext& context) {
  return fuse_pattern(graph, context, norm_of, make_normalization);
}

}  // namespace gantry
