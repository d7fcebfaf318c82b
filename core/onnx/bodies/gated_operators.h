// SPDX-License-Identifier: Apache-2.0
// Gates and norms of com.microsoft around the layers of recurrent text models: GatedRMSNorm,
// GatedAdd, ScaledSiLU, BranchwiseRMSNorm, LinearAttentionGate, EngramGate and the mixing of
// hyper-connections. Each computes in f32 and rounds where ONNX Runtime's definition does.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

std::vector<onnx::OpSchema> gated_schemas();

}  // namespace gantry
