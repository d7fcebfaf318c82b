// SPDX-License-Identifier: Apache-2.0
// Nodes of an older opset under a newer one, by the onnx library's version converter: what a
// fragment of nodes from several opsets needs to become one model. Pure functions, any thread.
#pragma once

#include <string>

#include "onnx/messages/proto.h"

namespace gantry {

/// `part`: one node of the default domain, what is known of its inputs and outputs as the graph's
/// inputs and outputs, and small constants that it reads as initializers. Afterwards `part` means
/// the same under opset `to`: the node, or several, with constants as initializers or nodes; inputs
/// and outputs keep their names. `label` names the node in errors. UNSUPPORTED: the library has no
/// conversion, or needs to know more of the types.
void raise_opset(onnx::GraphProto& part, int from, int to, const std::string& label);

}  // namespace gantry
