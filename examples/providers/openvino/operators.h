// SPDX-License-Identifier: Apache-2.0
// The operators that OpenVINO computes as ONNX specifies. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <string>

namespace gantry_openvino {

/// The reason why OpenVINO cannot run the node, by its operator, version and attributes; empty if
/// it can.
std::string refusal_of(const gantry::sdk::NodeView& node);

/// The reason why OpenVINO's CPU engine computes wrong results for a node with inputs or outputs of
/// this element type; empty if results are correct.
std::string type_refusal(const gantry::sdk::NodeView& node, gantry_dtype dtype);

/// True for an operator whose int64 results are bounded by extents, for any input.
bool counts_extents(const gantry::sdk::NodeView& node);

/// True if input `index` has indices along an axis, which fit 32 bits.
bool is_position(const gantry::sdk::NodeView& node, int index);

}  // namespace gantry_openvino
