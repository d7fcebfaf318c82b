// SPDX-License-Identifier: Apache-2.0
// Type inference behind operators without a schema, whose outputs have no type.
#pragma once

#include <onnx/defs/schema.h>

#include "onnx/messages/proto.h"

namespace gantry {

/// Makes the inference of a schema that reads the types of its inputs unseen conclude nothing where
/// one is not known. [any]
void guard_untyped_inputs(onnx::OpSchema& schema);

}  // namespace gantry
