// SPDX-License-Identifier: Apache-2.0
// What OpenVINO computes as ONNX says. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <string>

namespace gantry_openvino {

/// Empty if OpenVINO takes the node, as far as its operator, version and attributes tell; else why
/// not.
std::string refusal_of(const gantry::sdk::NodeView& node);

/// Empty if the node's results are exact with elements of this type among its inputs and outputs;
/// else what OpenVINO's engine for the CPU makes of them.
std::string type_refusal(const gantry::sdk::NodeView& node, gantry_dtype dtype);

/// True for an operator whose int64 results are bounded by extents, whatever it reads.
bool counts_extents(const gantry::sdk::NodeView& node);

/// True if input `index` holds positions along an axis, which 32 bits can hold.
bool is_position(const gantry::sdk::NodeView& node, int index);

}  // namespace gantry_openvino
