// SPDX-License-Identifier: Apache-2.0
// Matchers: small predicates on a node and its neighbours, from which the patterns of fused kernels
// are built: operators, constant operands, single readers, commutative operands, equal extents.
// Pure functions, any thread.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

namespace gantry::sdk {

/// Any number of inputs.
inline constexpr int kAnyInputs = -1;

/// True of a node of ai.onnx with that operator and, unless kAnyInputs, `inputs` inputs, all of
/// them present.
inline bool is_operator(const GraphIndex& index, uint32_t node, std::string_view op_type,
                        int inputs = kAnyInputs) {
  if (node == GANTRY_NONE) return false;
  const NodeView view = index.node(node);
  if (view.op_type() != op_type || !view.domain().empty()) return false;
  if (inputs == kAnyInputs) return true;
  if (view.input_count() != inputs) return false;
  for (int i = 0; i < inputs; ++i) {
    if (!view.input(i).present()) return false;
  }
  return true;
}

/// The node that makes a value, if is_operator() holds for it; else GANTRY_NONE.
inline uint32_t producer_of(const GraphIndex& index, uint32_t value, std::string_view op_type,
                            int inputs = kAnyInputs) {
  const uint32_t node = index.producer(value);
  return is_operator(index, node, op_type, inputs) ? node : GANTRY_NONE;
}

/// The only reader of a value, if is_operator() holds for it; else GANTRY_NONE.
inline uint32_t only_reader_of(const GraphIndex& index, uint32_t value, std::string_view op_type,
                               int inputs = kAnyInputs) {
  const uint32_t node = index.only_reader(value);
  return is_operator(index, node, op_type, inputs) ? node : GANTRY_NONE;
}

/// Output 0 of a node; GANTRY_NONE if it is absent.
inline uint32_t result_of(const GraphIndex& index, uint32_t node) {
  return index.raw(node).output_count > 0 ? index.raw(node).outputs[0] : GANTRY_NONE;
}

/// The other operand of a node with two inputs, one of which is `value`. GANTRY_NONE: the node has
/// another number of inputs, or none or both of them are `value`.
inline uint32_t other_operand(const GraphIndex& index, uint32_t node, uint32_t value) {
  const gantry_node& raw = index.raw(node);
  if (raw.input_count != 2 || (raw.inputs[0] == value) == (raw.inputs[1] == value))
    return GANTRY_NONE;
  return raw.inputs[raw.inputs[0] == value ? 1 : 0];
}

/// The element of a constant float32 or float64 tensor of one element and any rank; nothing for
/// every other value.
inline std::optional<double> scalar_constant(const ValueView& value) {
  const gantry_tensor* tensor = value.constant();
  if (!tensor || !tensor->data) return std::nullopt;
  for (int axis = 0; axis < value.rank(); ++axis) {
    if (value.extent(axis) != 1) return std::nullopt;
  }
  if (value.dtype() == GANTRY_FLOAT) {
    float number = 0;
    std::memcpy(&number, tensor->data, sizeof(number));
    return number;
  }
  if (value.dtype() == GANTRY_DOUBLE) {
    double number = 0;
    std::memcpy(&number, tensor->data, sizeof(number));
    return number;
  }
  return std::nullopt;
}

/// True of a scalar_constant() that equals `number` to a relative error of 1e-6 (float32).
inline bool is_scalar_constant(const ValueView& value, double number) {
  constexpr double kRelative = 1e-6;
  const std::optional<double> found = scalar_constant(value);
  return found && std::abs(*found - number) <= kRelative * std::abs(number);
}

/// True if the graph says that both values have the same shape in every run: each pair of extents
/// is known and equal, or unknown with the same name.
inline bool has_equal_extents(const GraphIndex& index, uint32_t a, uint32_t b) {
  if (a == GANTRY_NONE || b == GANTRY_NONE) return false;
  const ValueView first = index.value(a);
  const ValueView second = index.value(b);
  if (first.rank() < 0 || first.rank() != second.rank()) return false;
  for (int axis = 0; axis < first.rank(); ++axis) {
    if (first.extent(axis) != second.extent(axis)) return false;
    if (first.extent(axis) >= 0) continue;
    if (first.symbol(axis).empty() || first.symbol(axis) != second.symbol(axis)) return false;
  }
  return true;
}

}  // namespace gantry::sdk
