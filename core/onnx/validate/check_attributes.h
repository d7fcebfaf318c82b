// SPDX-License-Identifier: Apache-2.0
// Checks attributes that the onnx library's inference does not check: it would read out of bounds
// for an axis that does not fit an `int`, and loop for ever for an Einsum equation with characters
// that are no letters.
#pragma once

#include "onnx/messages/proto.h"

namespace gantry {

/// Checks the nodes of all graphs, bodies and functions. Requires normalize_domains().
/// INVALID_MODEL: one sentence that names the node. Any thread.
void check_attributes(onnx::ModelProto& model);

}  // namespace gantry
