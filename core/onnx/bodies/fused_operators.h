// SPDX-License-Identifier: Apache-2.0
// Fused operators that ONNX Runtime's optimizer writes to an optimized model: FusedConv, FusedGemm,
// FusedMatMul of com.microsoft; and SparseToDenseMatMul, which is FusedMatMul here.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// Their schemas, with a body of the unfused nodes. There is no body if the activation is no ONNX
/// operator, or if FusedMatMul (or TransposeMatMul, its older name) transposes a tensor of unknown
/// rank.
std::vector<onnx::OpSchema> fused_schemas();

}  // namespace gantry
