// SPDX-License-Identifier: Apache-2.0
// The order of nodes, checked ahead of the onnx checker to say what is wrong with it.
#pragma once

#include "onnx/proto.h"

namespace gantry {

/// INVALID_MODEL: a node reads a value that stands later in the model, so that the nodes are out of
/// order or form a cycle, or that nothing defines. Names node and value.
void check_order(const onnx::GraphProto& graph);

}  // namespace gantry
