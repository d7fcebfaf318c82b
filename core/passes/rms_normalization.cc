// SPDX-License-Identifier: Apache-2.0
// Fuses exporters' pattern of RMS normalization, as language models have it, to the operator
// RMSNormalization (ai.onnx opset 23). The quotient may be a product with the reciprocal, and the
// operands of sums and products may be in either order.
//
//   %a = Pow-15(%x, %two)
//   %b = ReduceMean-18(%a, {-1})
//   %c = Add-14(%b, %epsilon)
//   %d = Sqrt-13(%c)
//   %e = Div-14(%x, %d)
//   %y = Mul-14(%e, %scale)     =>   %y = RMSNormalization-23(%x, %scale) {axis = -1, epsilon}
#include <optional>

#include "passes/fuse_pattern.h"
#include "passes/pattern.h"

namespace gantry {
namespace {

struct RmsNormMatch {
  GraphValue* x = nullptr;
  GraphValue* scale = nullptr;
  GraphValue* result = nullptr;
  float epsilon = 0;
};

// x in sqrt(mean(x * x) + epsilon), and epsilon; null: it is no such root.
GraphValue* operand_of_root(const GraphValue* root, float& epsilon) {
  const Node* sqrt = producer_of(root, "Sqrt", 1);
  const Node* sum = sqrt ? producer_of(sqrt->inputs[0], "Add", 2) : nullptr;
  if (!sum) return nullptr;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const std::optional<double> number = number_of(sum->inputs[1 - i]);
    const GraphValue* squares = number ? averaged_over_last(sum->inputs[i]) : nullptr;
    if (!squares || !squares->producer) continue;
    GraphValue* x = squares->producer->inputs[0];
    if (!is_square_of(squares, x)) continue;
    epsilon = static_cast<float>(*number);
    return x;
  }
  return nullptr;
}

// The root r if the value is 1 / r; null: it is no reciprocal.
const GraphValue* reciprocal_of(const GraphValue* value) {
  if (const Node* node = producer_of(value, "Reciprocal", 1)) return node->inputs[0];
  const Node* quotient = producer_of(value, "Div", 2);
  return quotient && is_scalar_constant(quotient->inputs[0], 1) ? quotient->inputs[1] : nullptr;
}

// `node`: the node that divides x by its root mean square.
RmsNormMatch rms_norm_of(const Node& node) {
  RmsNormMatch match;
  const auto is_x_over = [&](const GraphValue* x, const GraphValue* root) {
    match.x = root ? operand_of_root(root, match.epsilon) : nullptr;
    return match.x && match.x == x;
  };
  const bool is_found =
      (is_operator(node, "Div", 2) && is_x_over(node.inputs[0], node.inputs[1])) ||
      (is_operator(node, "Mul", 2) && (is_x_over(node.inputs[0], reciprocal_of(node.inputs[1])) ||
                                       is_x_over(node.inputs[1], reciprocal_of(node.inputs[0]))));
  if (!is_found || match.x->type.dtype != DType::kFloat) return {};  // others: computed in float32
  const Node* scaling = only_user(node.outputs[0], "Mul", 2);
  if (!scaling) return {};
  match.scale = other_operand(*scaling, node.outputs[0]);
  if (!is_along_last(match.scale, match.x)) return {};
  match.result = scaling->outputs[0];
  return have_one_rank(match.x, match.result) ? match : RmsNormMatch{};
}

Node* make_rms_normalization(Graph& graph, const RmsNormMatch& match) {
  Node* node = graph.add_node("RMSNormalization", "", 23, match.result->producer->name);
  node->attributes.push_back({"axis", int64_t{-1}});
  node->attributes.push_back({"epsilon", match.epsilon});
  graph.add_input(node, match.x);
  graph.add_input(node, match.scale);
  return node;
}

}  // namespace

bool fuse_rms_normalization(Graph& graph, const PassContext& context) {
  return fuse_pattern(graph, context, rms_norm_of, make_rms_normalization);
}

}  // namespace gantry
