// SPDX-License-Identifier: Apache-2.0
// Questions that passes ask which look for a pattern of nodes.
#pragma once

#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace gantry {

/// True of ai.onnx's operator of that name with one output and `inputs` inputs, all present.
bool is_operator(const Node& node, std::string_view op_type, size_t inputs);

/// The node that makes a value, if it is such an operator; else null.
Node* producer_of(const GraphValue* value, std::string_view op_type, size_t inputs);

/// The node that alone reads a value, once; null: there are none or several, or it leaves the
/// graph.
Node* only_user(const GraphValue* value);

/// The node that alone reads a value, if it is such an operator; else null.
Node* only_user(const GraphValue* value, std::string_view op_type, size_t inputs);

/// Of two operands the one that is not `value`; null: neither is, or both are.
GraphValue* other_operand(const Node& node, const GraphValue* value);

/// True if both ranks are known and equal. Of what element-wise nodes make of a value and of
/// numbers: then it has that value's shape, which a number of more dimensions would have added to.
bool have_one_rank(const GraphValue* a, const GraphValue* b);

/// The number of a constant f32 or f64 of one element and any rank.
std::optional<double> number_of(const GraphValue* value);

/// True if the value is a constant that is `number`, if that is a whole one; else within two units
/// in its last place, or what f16 or bf16 have for it in a graph with values of that type.
bool is_number(const GraphValue* value, double number);

/// The value that such a node multiplies by a constant near `number`, or divides by one near
/// 1 / `number`; null: it does not.
GraphValue* scaled_by(const Node* node, double number);

/// What a mean over the last axis, which stays with extent 1, is taken of; null: it is no such
/// mean.
GraphValue* averaged_over_last(const GraphValue* value);

/// True if the value is `of` times itself, or to the power of 2.
bool is_square_of(const GraphValue* value, const GraphValue* of);

/// True of a constant vector of the last extent and the element type of x.
bool is_along_last(const GraphValue* value, const GraphValue* x);

}  // namespace gantry
