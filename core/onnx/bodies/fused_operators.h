// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime's optimizer makes of several nodes and writes when it saves an optimized model:
// FusedConv, FusedGemm, FusedMatMul of com.microsoft.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// Each with a body of the nodes that it stands for. None has one if it names an activation that
/// ONNX has no operator for; FusedMatMul and its older name TransposeMatMul, if they transpose a
/// tensor whose rank is not known.
std::vector<onnx::OpSchema> fused_schemas();

}  // namespace gantry
