// SPDX-License-Identifier: Apache-2.0
// The operator Gradient (ai.onnx.preview.training), whose outputs are derivatives of a part of the
// graph: recognises its nodes and completes the library's schema. Its body is derived from the
// surrounding graph (gradient/gradient.h).
#pragma once

#include <onnx/defs/schema.h>

#include "onnx/messages/function_call.h"
#include "onnx/messages/proto.h"

namespace gantry {

bool is_gradient(const FunctionCall& call);

/// Adds type inference to the schema of Gradient: the outputs have the types of the first inputs.
/// The library's schema lacks it, so that types of readers could not be inferred. [any]
void teach_gradient_types(onnx::OpSchema& schema);

}  // namespace gantry
