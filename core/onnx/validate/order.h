// SPDX-License-Identifier: Apache-2.0
// The order of nodes, checked ahead of the onnx checker to say what is wrong with it.
#pragma once

#include <string>

#include "onnx/messages/proto.h"

namespace gantry {

/// INVALID_MODEL: a node reads a value that stands later in the model, so that the nodes are out of
/// order or form a cycle, or that nothing defines. Names node and value.
void check_order(const onnx::GraphProto& graph);

/// Puts the nodes of the graph in the order of their computation, and leaves those that are in it
/// where they are. Returns what the first node that stood too early is called in messages; empty:
/// all were in order, or they form a cycle and stay. Does not look at the order within bodies.
std::string sort_nodes(onnx::GraphProto& graph);

/// What a node is called in messages: operator and name, or without a name its first output.
std::string label_of(const onnx::NodeProto& node);

}  // namespace gantry
