// SPDX-License-Identifier: Apache-2.0
// Stateful layers of com.microsoft, which carry a state from run to run: CausalConvWithState and
// LinearAttention.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// Their schemas. There is no body for convolutions over more than one axis and for weights with
/// unknown extents.
std::vector<onnx::OpSchema> state_schemas();

}  // namespace gantry
