// SPDX-License-Identifier: Apache-2.0
// Checks and repairs the order of nodes. Runs before the onnx checker, for better messages.
#pragma once

#include <string>

#include "onnx/messages/proto.h"

namespace gantry {

/// INVALID_MODEL: a node reads a value that is defined later in the model (the nodes are not in
/// topological order, or form a cycle) or is not defined at all. The message names node and value.
void check_order(const onnx::GraphProto& graph);

/// Sorts the nodes of the graph topologically, with a stable order. Returns the label of the first
/// node that was too early; empty: all were in order, or they form a cycle and nothing changed.
/// Does not sort bodies.
std::string sort_nodes(onnx::GraphProto& graph);

/// The label of a node in messages: operator and name, or its first output if it has no name.
std::string label_of(const onnx::NodeProto& node);

}  // namespace gantry
