// SPDX-License-Identifier: Apache-2.0
// Function bodies of Gradient (ai.onnx.preview.training), by reverse-mode differentiation. The body
// computes the differentiated part of the graph again (forward), then the derivatives from the
// target back to the variables. For a derivative of a derivative the inner Gradient is inlined
// first.
#pragma once

#include <vector>

#include "onnx/messages/proto.h"
#include "onnx/messages/value_types.h"

namespace gantry {

/// Indices of the nodes of `graph` that a Gradient node differentiates and whose operators have no
/// rule: those that depend on its variables, and all nodes of other domains than the default one.
/// Functions among them must be inlined first.
std::vector<int> nodes_without_rule(const onnx::GraphProto& graph, const onnx::NodeProto& node);

/// The body of a Gradient node of `graph`. Values that the differentiated part reads besides the
/// node's variables are appended to the node's inputs. `opset`: the imported version of the default
/// domain. UNSUPPORTED: an operator without a rule, or unknown shapes where broadcasting must be
/// reversed. INVALID_MODEL: the node's attributes do not name values of the graph.
onnx::FunctionProto gradient_body(const onnx::GraphProto& graph, onnx::NodeProto& node,
                                  const ValueTypes& types, int opset);

}  // namespace gantry
