// SPDX-License-Identifier: Apache-2.0
// What type inference may spend on the values of tensors, as which shapes are computed.
#pragma once

#include <onnx/defs/schema.h>

#include "onnx/messages/proto.h"

namespace gantry {

/// Makes inference follow no values through nodes of this schema that read a vector too long for a
/// shape, or for what shapes are picked from: the library takes an object for each element,
/// whatever the type. [any]
void limit_data_propagation(onnx::OpSchema& schema);

}  // namespace gantry
