// SPDX-License-Identifier: Apache-2.0
// Converts nodes of an older opset to a newer one by the onnx library's version converter, so that
// a fragment with nodes of several opsets can be exported as one model. Pure functions, any thread.
#pragma once

#include <string>

#include "onnx/messages/proto.h"

namespace gantry {

/// `part`: a graph of one node of the default domain, whose inputs and outputs have the known
/// types, with small constants as initializers. Afterwards `part` has one or more nodes that
/// compute the same under opset `to`, with constants as initializers or nodes; inputs and outputs
/// keep their names. `label`: name of the node in errors. UNSUPPORTED: the library has no
/// conversion, or needs more type information.
void convert_opset(onnx::GraphProto& part, int from, int to, const std::string& label);

}  // namespace gantry
