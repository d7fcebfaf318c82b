// SPDX-License-Identifier: Apache-2.0
// Predicates for passes that match patterns of nodes.
#pragma once

#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace gantry {

/// True of a node of ai.onnx with that operator, one output and `inputs` inputs, all present.
bool is_operator(const Node& node, std::string_view op_type, size_t inputs);

/// The node that makes a value, if is_operator() holds for it; else null.
Node* producer_of(const GraphValue* value, std::string_view op_type, size_t inputs);

/// The only reader of a value; null: there are no reads or several, or the value is a graph output.
Node* only_user(const GraphValue* value);

/// The only reader of a value, if is_operator() holds for it; else null.
Node* only_user(const GraphValue* value, std::string_view op_type, size_t inputs);

/// The other operand of a node with two inputs, one of which is `value`; null: the node has another
/// number of inputs, or none or both of them are `value`.
GraphValue* other_operand(const Node& node, const GraphValue* value);

/// True if both ranks are known and equal. Then the result of element-wise nodes on a value and
/// one-element constants has the value's shape: a constant of higher rank would have raised the
/// rank.
bool have_one_rank(const GraphValue* a, const GraphValue* b);

/// The element of a constant float32 or float64 tensor of one element and any rank; nothing for
/// every other value.
std::optional<double> number_of(const GraphValue* value);

/// True if number_of(value) is `number`. An integer `number` must be equal; any other within two
/// units in the last place, or equal to `number` rounded to float16 or bfloat16 in a graph with
/// values of that type.
bool is_scalar_constant(const GraphValue* value, double number);

/// The value x of a node that computes x * `number` or x / (1 / `number`), by is_scalar_constant();
/// null: the node does not.
GraphValue* scaled_by(const Node* node, double number);

/// The input of a ReduceMean over the last axis with keepdims = 1 that makes `value`; null: it is
/// not made so.
GraphValue* averaged_over_last(const GraphValue* value);

/// True if the value is Mul(`of`, `of`) or Pow(`of`, 2).
bool is_square_of(const GraphValue* value, const GraphValue* of);

/// True of a constant vector with the last extent and the element type of x.
bool is_along_last(const GraphValue* value, const GraphValue* x);

}  // namespace gantry
