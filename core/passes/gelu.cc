// SPDX-License-Identifier: Apache-2.0
// Fuses exporters' patterns of GELU to the operator Gelu (ai.onnx opset 20): by Erf, or by Tanh and
// the third power. The last two factors may be in any order.
//
//   %a = Div-14(%x, %sqrt2)
//   %b = Erf-13(%a)
//   %c = Add-14(%b, %one)
//   %d = Mul-14(%x, %c)
//   %y = Mul-14(%d, %half)     =>   %y = Gelu-20(%x) {approximate = "none"}
#include <cmath>
#include <optional>
#include <string>

#include "passes/fuse_pattern.h"
#include "passes/pattern.h"

namespace gantry {
namespace {

constexpr double kTanhFactor = 0.7978845608028654;  // sqrt(2 / pi)
constexpr double kCubeFactor = 0.044715;

struct GeluMatch {
  GraphValue* x = nullptr;
  GraphValue* result = nullptr;
  const char* approximate = nullptr;
};

// x in erf(x / sqrt(2)).
GraphValue* operand_of_erf(const Node& erf) {
  const Node* scaling = erf.inputs[0]->producer;
  return scaled_by(scaling, 1 / std::sqrt(2.0));
}

// A product of constants and powers of x.
struct Product {
  double number = 1;
  double power = 0;
};

// Multiplies `product` by `value`, a tree of Mul and Pow nodes in any order; false: it has a factor
// that is neither a constant nor a power of x.
bool collect(const GraphValue* value, const GraphValue* x, int depth, Product& product) {
  if (value == x) {
    ++product.power;
    return true;
  }
  if (const std::optional<double> number = number_of(value)) {
    product.number *= *number;
    return true;
  }
  if (depth == 0) return false;
  if (const Node* power = producer_of(value, "Pow", 2)) {
    const std::optional<double> exponent = number_of(power->inputs[1]);
    if (power->inputs[0] != x || !exponent) return false;
    product.power += *exponent;
    return true;
  }
  const Node* factors = producer_of(value, "Mul", 2);
  return factors && collect(factors->inputs[0], x, depth - 1, product) &&
         collect(factors->inputs[1], x, depth - 1, product);
}

bool is_scaled_cube(const GraphValue* value, const GraphValue* x) {
  constexpr int kMostFactors = 3;  // depth of nested Mul nodes: three x and a constant
  constexpr double kRelative = 1e-6;
  Product product;
  return collect(value, x, kMostFactors, product) && product.power == 3 &&
         std::abs(product.number - kCubeFactor) <= kRelative * kCubeFactor;
}

// x in tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)).
GraphValue* operand_of_tanh(const Node& tanh) {
  const GraphValue* sum = scaled_by(tanh.inputs[0]->producer, kTanhFactor);
  const Node* add = producer_of(sum, "Add", 2);
  if (!add) return nullptr;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (is_scaled_cube(add->inputs[1 - i], add->inputs[i])) return add->inputs[i];
  }
  return nullptr;
}

// The result of x * 0.5 * (1 + bell), in any order of the products; null: the pattern does not
// match.
GraphValue* result_of(const GraphValue* bell, const GraphValue* x) {
  const Node* sum = only_user(bell, "Add", 2);
  if (!sum || !is_scalar_constant(other_operand(*sum, bell), 1)) return nullptr;
  const GraphValue* first = sum->outputs[0];
  const Node* next = only_user(first);
  if (!next) return nullptr;
  if (scaled_by(next, 0.5) == first) {  // (sum * 0.5) * x
    const Node* last = only_user(next->outputs[0], "Mul", 2);
    return last && other_operand(*last, next->outputs[0]) == x ? last->outputs[0] : nullptr;
  }
  if (!is_operator(*next, "Mul", 2)) return nullptr;
  const GraphValue* other = other_operand(*next, first);
  if (!other) return nullptr;
  if (other == x) {  // (sum * x) * 0.5
    const Node* last = only_user(next->outputs[0]);
    return scaled_by(last, 0.5) == next->outputs[0] ? last->outputs[0] : nullptr;
  }
  return scaled_by(other->producer, 0.5) == x ? next->outputs[0] : nullptr;  // sum * (x * 0.5)
}

bool has_gelu(DType dtype) { return dtype == DType::kFloat || dtype == DType::kDouble; }

// `node`: the Erf or Tanh.
GeluMatch gelu_of(const Node& node) {
  GeluMatch match;
  if (is_operator(node, "Erf", 1)) {
    match = {operand_of_erf(node), nullptr, "none"};
  } else if (is_operator(node, "Tanh", 1)) {
    match = {operand_of_tanh(node), nullptr, "tanh"};
  }
  if (!match.x || !has_gelu(match.x->type.dtype)) return {};
  match.result = result_of(node.outputs[0], match.x);
  return match.result && have_one_rank(match.x, match.result) ? match : GeluMatch{};
}

Node* make_gelu(Graph& graph, const GeluMatch& match) {
  Node* node = graph.add_node("Gelu", "", 20, match.result->producer->name);
  node->attributes.push_back({"approximate", std::string(match.approximate)});
  graph.add_input(node, match.x);
  return node;
}

}  // namespace

bool fuse_gelu(Graph& graph, const PassContext& context) {
  return fuse_pattern(graph, context, gelu_of, make_gelu);
}

}  // namespace gantry
