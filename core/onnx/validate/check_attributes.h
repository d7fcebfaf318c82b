// SPDX-License-Identifier: Apache-2.0
// Attributes that the onnx library's inference takes for granted: it would read beyond its shapes
// with an axis that no `int` holds, and never end with an Einsum of signs that are no letters.
#pragma once

#include "onnx/messages/proto.h"

namespace gantry {

/// Checks the nodes of all graphs, bodies and functions. Requires normal domains. INVALID_MODEL,
/// one sentence that names the node. Any thread.
void check_attributes(onnx::ModelProto& model);

}  // namespace gantry
