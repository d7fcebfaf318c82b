// SPDX-License-Identifier: Apache-2.0
// Type inference for readers of operators without a schema, whose outputs have no type.
#pragma once

#include <onnx/defs/schema.h>

#include "onnx/messages/proto.h"

namespace gantry {

/// Guards the inference function of a schema that dereferences input types without a check: it
/// infers nothing if an input has no type. [any]
void guard_untyped_inputs(onnx::OpSchema& schema);

}  // namespace gantry
