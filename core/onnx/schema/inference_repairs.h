// SPDX-License-Identifier: Apache-2.0
// Inference functions of the onnx library, 1.23.2, that infer wrong shapes or refuse valid models.
#pragma once

#include <onnx/defs/schema.h>

#include "onnx/messages/proto.h"

namespace gantry {

/// Puts a right inference function in the place of a wrong one; other schemas stay as they are.
/// [any]
/// - AveragePool, MaxPool, LpPool: with ceil_mode windows that begin in the padding at the end are
///   ignored (ONNX AveragePool-19); the library counts them.
/// - Resize: the length of `sizes` may be unknown; the library takes it for 0.
/// - StringNormalizer: the first of two extents may be unknown; the library wants a 1.
/// - ConvTranspose: output_shape may be less than the input's; the library leaves the spatial axes
///   out of the shape.
void repair_inference(onnx::OpSchema& schema);

}  // namespace gantry
