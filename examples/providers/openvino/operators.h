// SPDX-License-Identifier: Apache-2.0
// What OpenVINO computes as ONNX says. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <string>

namespace gantry_openvino {

/// Empty if OpenVINO takes the node, as far as its operator, version and attributes tell; else why
/// not.
std::string refusal_of(const gantry::sdk::NodeView& node);

/// True for an operator whose int64 results are bounded by extents, whatever it reads.
bool counts_extents(const gantry::sdk::NodeView& node);

/// True if input `index` holds positions along an axis, which 32 bits can hold.
bool is_position(const gantry::sdk::NodeView& node, int index);

}  // namespace gantry_openvino
