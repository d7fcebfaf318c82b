// SPDX-License-Identifier: Apache-2.0
// Mixture-of-experts operators of com.microsoft: MoE, and QMoE with quantized weights.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// Their schemas. A body computes every expert for every token and weights the results; most
/// weights are 0. There is no body for the sparse mixer, for float8 and float4 weights, and for
/// weights packed for one device.
std::vector<onnx::OpSchema> expert_schemas();

}  // namespace gantry
