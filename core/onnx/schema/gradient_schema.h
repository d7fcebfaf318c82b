// SPDX-License-Identifier: Apache-2.0
// The operator Gradient (ai.onnx.preview.training), whose outputs are derivatives of a part of the
// graph: which nodes are one, and what the library's schema of it leaves out. Its body is made of
// the graph that it stands in (gradient/gradient.h).
#pragma once

#include <onnx/defs/schema.h>

#include "onnx/messages/function_call.h"
#include "onnx/messages/proto.h"

namespace gantry {

bool is_gradient(const FunctionCall& call);

/// Adds to the schema of Gradient the types of its outputs, those of its first inputs, which the
/// library's does not tell: what reads a derivative could not be inferred. [any]
void teach_gradient_types(onnx::OpSchema& schema);

}  // namespace gantry
