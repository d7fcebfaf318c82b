// SPDX-License-Identifier: Apache-2.0
// The differentiation rules, by operator (vector-Jacobian products). They add ONNX nodes that have
// rules themselves, so that a derivative can be differentiated again. Any thread.
#pragma once

#include <map>
#include <string>

#include "onnx/gradient/backward.h"

namespace gantry {

/// Adds a node's part of the derivatives of its inputs (Backward::give), from `g`, the derivative
/// of the target by the node's first output. UNSUPPORTED: a form of the operator without a rule.
using Rule = void (*)(Backward& to, const onnx::NodeProto& node, const std::string& g);

/// The rule of an operator of the default domain; null: it has none.
Rule find_rule(const std::string& op_type);

/// The tables of find_rule: element-wise functions, data movement, normalizations, products
/// (matmul, einsum), reductions, and sliding windows (convolutions, pools).
const std::map<std::string, Rule>& elementwise_rules();
const std::map<std::string, Rule>& movement_rules();
const std::map<std::string, Rule>& norm_rules();
const std::map<std::string, Rule>& product_rules();
const std::map<std::string, Rule>& reduction_rules();
const std::map<std::string, Rule>& window_rules();

// Parts that rules share.

/// Slice [begin, end) of an axis.
std::string sliced(Backward& to, const std::string& value, int axis, int64_t begin, int64_t end);

/// The value with axes of extent 1 inserted at `axes`, ascending.
std::string unsqueezed(Backward& to, const std::string& value, const std::vector<int64_t>& axes);

/// The rule of a Resize that is linear in its input: every mode except nearest.
void resize_between(Backward& to, const onnx::NodeProto& node, const std::string& g);

/// A tensor of the shape of `like`: each element is the sum of the elements of `part` whose element
/// of `indices` is its flat index.
std::string scattered(Backward& to, const std::string& like, const std::string& indices,
                      const std::string& part);

}  // namespace gantry
