// SPDX-License-Identifier: Apache-2.0
// Limits the data propagation of type inference, which computes shapes from values of tensors.
#pragma once

#include <onnx/defs/schema.h>

#include "onnx/messages/proto.h"

namespace gantry {

/// Disables data propagation for nodes of this schema that read a vector too long for a shape or
/// for a source of shapes: the library makes an object for each element, whatever the type. A value
/// that cannot be computed, as a sum that overflows, is unknown. [any]
void limit_data_propagation(onnx::OpSchema& schema);

}  // namespace gantry
