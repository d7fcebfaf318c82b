// SPDX-License-Identifier: Apache-2.0
// MatMulNBits of com.microsoft: a MatMul with a constant matrix of 2, 4 or 8 bits, quantized in
// blocks along the inner dimension, each with a scale and a zero point.
#pragma once

#include <onnx/defs/schema.h>

#include "onnx/messages/proto.h"

namespace gantry {

/// Its schema. The body unpacks the matrix by ai.onnx operators; there is no body for other bit
/// widths.
onnx::OpSchema matmul_nbits_schema();

}  // namespace gantry
