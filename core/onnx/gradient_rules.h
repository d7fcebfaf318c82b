// SPDX-License-Identifier: Apache-2.0
// The rules of differentiation, by operator. They are written as nodes of ONNX that have rules
// themselves, so that a derivative can be differentiated again. Any thread.
#pragma once

#include <map>
#include <string>

#include "onnx/gradient_backward.h"

namespace gantry {

/// Gives to the inputs of a node their parts, from the derivative `g` by its first output. Errors
/// as Backward::fail, for forms of the operator that the rule does not know.
using Rule = void (*)(Backward& to, const onnx::NodeProto& node, const std::string& g);

/// Null if the operator (of the default domain) has none.
Rule find_rule(const std::string& op_type);

/// The two tables behind it: functions that go element by element; all others.
const std::map<std::string, Rule>& elementwise_rules();
const std::map<std::string, Rule>& tensor_rules();

}  // namespace gantry
