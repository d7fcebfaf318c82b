// SPDX-License-Identifier: Apache-2.0
// MatMulNBits of com.microsoft: a product with a constant matrix of 2, 4 or 8 bits in blocks along
// the inner dimension, each with a scale and a zero point.
#pragma once

#include <onnx/defs/schema.h>

#include "onnx/messages/proto.h"

namespace gantry {

/// Its schema. The body unpacks the matrix in terms of ai.onnx; there is none for other
/// numbers of bits.
onnx::OpSchema matmul_nbits_schema();

}  // namespace gantry
