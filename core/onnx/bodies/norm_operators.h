// SPDX-License-Identifier: Apache-2.0
// Normalization operators that ONNX Runtime's optimizers write: SkipLayerNormalization,
// SkipSimplifiedLayerNormalization and EmbedLayerNormalization of com.microsoft, and
// SimplifiedLayerNormalization, which they write in the domain ai.onnx.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// Their schemas. A body computes in float32; there is no body if the mean or the deviation is an
/// output.
std::vector<onnx::OpSchema> norm_schemas();

}  // namespace gantry
