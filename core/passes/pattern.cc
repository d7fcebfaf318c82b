// SPDX-License-Identifier: Apache-2.0
#include "passes/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace gantry {
namespace {

// Rounds to that many significant bits, ties to even.
double rounded(double number, int bits) {
  int exponent = 0;
  const double fraction = std::frexp(number, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

// True if the graph of a constant has values of that type.
bool is_of_graph_with(const GraphValue* value, DType dtype) {
  if (value->users.empty()) return false;
  const auto& values = value->users[0]->graph->values();
  return std::any_of(values.begin(), values.end(),
                     [&](const auto& other) { return other->type.dtype == dtype; });
}

}  // namespace

bool is_operator(const Node& node, std::string_view op_type, size_t inputs) {
  return node.op_type == op_type && node.domain.empty() && node.inputs.size() == inputs &&
         std::find(node.inputs.begin(), node.inputs.end(), nullptr) == node.inputs.end() &&
         node.outputs.size() == 1 && node.outputs[0];
}

Node* producer_of(const GraphValue* value, std::string_view op_type, size_t inputs) {
  if (!value || !value->producer || !is_operator(*value->producer, op_type, inputs)) return nullptr;
  return value->producer;
}

Node* only_user(const GraphValue* value) {
  if (!value || value->users.size() != 1 || value->is_output()) return nullptr;
  return value->users[0];
}

Node* only_user(const GraphValue* value, std::string_view op_type, size_t inputs) {
  Node* user = only_user(value);
  return user && is_operator(*user, op_type, inputs) ? user : nullptr;
}

GraphValue* other_operand(const Node& node, const GraphValue* value) {
  if (node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return nullptr;
  if (node.inputs[0] == value) return node.inputs[1];
  return node.inputs[1] == value ? node.inputs[0] : nullptr;
}

bool have_one_rank(const GraphValue* a, const GraphValue* b) {
  return a->type.has_rank && b->type.has_rank && a->type.shape.size() == b->type.shape.size();
}

std::optional<double> number_of(const GraphValue* value) {
  if (!value || !value->constant || value->constant->kind != GANTRY_KIND_TENSOR)
    return std::nullopt;
  const gantry_value& constant = *value->constant;  // may be unaligned in a mapped file
  if (constant.dtype == DType::kFloat && constant.view.size_bytes == sizeof(float)) {
    float number = 0;
    std::memcpy(&number, constant.view.data, sizeof(number));
    return number;
  }
  if (constant.dtype == DType::kDouble && constant.view.size_bytes == sizeof(double)) {
    double number = 0;
    std::memcpy(&number, constant.view.data, sizeof(number));
    return number;
  }
  return std::nullopt;
}

bool is_scalar_constant(const GraphValue* value, double number) {
  // Two units in the last place: exporters compute constants in various ways.
  constexpr double kFloat = 0x1p-22, kDouble = 0x1p-51;
  constexpr int kHalfBits = 11, kBrainBits = 8;
  const std::optional<double> found = number_of(value);
  if (!found) return false;
  // Integers must be equal: Pow with an exponent near 2 makes NaN of a negative base.
  if (number == std::nearbyint(number)) return *found == number;
  const bool is_double = value->constant->dtype == DType::kDouble;
  if (std::abs(*found - number) <= (is_double ? kDouble : kFloat) * std::abs(number)) return true;
  // In a 16-bit model constants are rounded; in other models such a constant is another number.
  return (*found == rounded(number, kHalfBits) && is_of_graph_with(value, DType::kFloat16)) ||
         (*found == rounded(number, kBrainBits) && is_of_graph_with(value, DType::kBfloat16));
}

GraphValue* scaled_by(const Node* node, double number) {
  if (!node || node->inputs.size() != 2) return nullptr;
  if (is_operator(*node, "Div", 2))
    return is_scalar_constant(node->inputs[1], 1 / number) ? node->inputs[0] : nullptr;
  if (!is_operator(*node, "Mul", 2)) return nullptr;
  if (is_scalar_constant(node->inputs[1], number)) return node->inputs[0];
  return is_scalar_constant(node->inputs[0], number) ? node->inputs[1] : nullptr;
}

namespace {

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

}  // namespace

GraphValue* averaged_over_last(const GraphValue* value) {
  const Node* node = producer_of(value, "ReduceMean", 1);
  if (!node) node = producer_of(value, "ReduceMean", 2);
  if (!node || node->get<int64_t>("keepdims", 1) != 1) return nullptr;
  const TypeInfo& type = node->inputs[0]->type;
  const std::vector<int64_t> axes = axes_of(*node);
  if (axes.size() != 1 || !type.has_rank) return nullptr;
  const auto last = static_cast<int64_t>(type.shape.size()) - 1;
  return axes[0] == -1 || axes[0] == last ? node->inputs[0] : nullptr;
}

bool is_square_of(const GraphValue* value, const GraphValue* of) {
  if (const Node* power = producer_of(value, "Pow", 2))
    return power->inputs[0] == of && is_scalar_constant(power->inputs[1], 2);
  const Node* product = producer_of(value, "Mul", 2);
  return product && product->inputs[0] == of && product->inputs[1] == of;
}

bool is_along_last(const GraphValue* value, const GraphValue* x) {
  return value && value->constant && value->type.shape.size() == 1 &&
         value->type.dtype == x->type.dtype && value->type.shape[0] == x->type.shape.back();
}

}  // namespace gantry
