// SPDX-License-Identifier: Apache-2.0
// Activation functions of recurrent layers as kernel text. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <string>

namespace gantry::cuda {

/// Text of first_, second_ and third_function(x, direction), of which the layer has `count`,
/// computed in the type C of `dtype`. INVALID_MODEL: a name is unknown to ONNX, or there are too
/// few.
std::string recurrent_functions(const sdk::NodeView& node, int directions, int count);

}  // namespace gantry::cuda
