// SPDX-License-Identifier: Apache-2.0
// Normalisations that ONNX Runtime's optimizers write: SkipLayerNormalization,
// SkipSimplifiedLayerNormalization and EmbedLayerNormalization of com.microsoft, and
// SimplifiedLayerNormalization, which they write in the domain of ai.onnx itself.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// Their schemas. A body computes in f32; there is none where the mean or the deviation is an
/// output.
std::vector<onnx::OpSchema> norm_schemas();

}  // namespace gantry
