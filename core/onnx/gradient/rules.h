// SPDX-License-Identifier: Apache-2.0
// The rules of differentiation, by operator. They are written as nodes of ONNX that have rules
// themselves, so that a derivative can be differentiated again. Any thread.
#pragma once

#include <map>
#include <string>

#include "onnx/gradient/backward.h"

namespace gantry {

/// Gives to the inputs of a node their parts, from the derivative `g` by its first output. Errors
/// as Backward::fail, for forms of the operator that the rule does not know.
using Rule = void (*)(Backward& to, const onnx::NodeProto& node, const std::string& g);

/// Null if the operator (of the default domain) has none.
Rule find_rule(const std::string& op_type);

/// The tables behind it: functions that go element by element, what moves elements, normalizations,
/// products, what folds axes, and what goes over images in windows.
const std::map<std::string, Rule>& elementwise_rules();
const std::map<std::string, Rule>& movement_rules();
const std::map<std::string, Rule>& norm_rules();
const std::map<std::string, Rule>& product_rules();
const std::map<std::string, Rule>& reduction_rules();
const std::map<std::string, Rule>& window_rules();

// ---- Parts that rules share

/// The elements from `begin` to below `end` along an axis.
std::string sliced(Backward& to, const std::string& value, int axis, int64_t begin, int64_t end);

/// The value with axes of extent 1 where `axes`, ascending, says.
std::string unsqueezed(Backward& to, const std::string& value, const std::vector<int64_t>& axes);

/// The rule of a Resize that is linear in its input, as all are but those to the nearest element.
void resize_between(Backward& to, const onnx::NodeProto& node, const std::string& g);

/// A tensor of the shape of `like`: at each place, the sum of those elements of `part` whose
/// element of `places` names it, counted through all of the tensor.
std::string scattered(Backward& to, const std::string& like, const std::string& places,
                      const std::string& part);

}  // namespace gantry
