// SPDX-License-Identifier: Apache-2.0
// Gradient (ai.onnx.preview.training): a function of its inputs that computes the differentiated
// part of the graph once more, and then the derivatives, from its target back to its variables. A
// derivative of a derivative is taken when the inner one's nodes stand in the graph.
#pragma once

#include <vector>

#include "onnx/messages/proto.h"
#include "onnx/messages/value_types.h"

namespace gantry {

/// The nodes of `graph` that a Gradient node of it differentiates and for whose operators there is
/// no rule, by their places in it: those that depend on its variables, and all of other domains
/// than the default one. Functions among them have to become their bodies first.
std::vector<int> nodes_without_rule(const onnx::GraphProto& graph, const onnx::NodeProto& node);

/// The body of a Gradient node of `graph`; what the differentiated part reads beyond the node's
/// variables is appended to its inputs. `opset`: the imported version of the default domain.
/// UNSUPPORTED: an operator without a rule here, or shapes that inference does not know where
/// broadcasting has to be undone. INVALID_MODEL: attributes that name no such part.
onnx::FunctionProto gradient_body(const onnx::GraphProto& graph, onnx::NodeProto& node,
                                  const ValueTypes& types, int opset);

}  // namespace gantry
