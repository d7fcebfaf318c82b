// SPDX-License-Identifier: Apache-2.0
// Layers of com.microsoft that carry a state from call to call: CausalConvWithState and
// LinearAttention.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// There is no body for convolutions over more than one axis and for weights whose extents are not
/// known.
std::vector<onnx::OpSchema> state_schemas();

}  // namespace gantry
