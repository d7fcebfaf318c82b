// SPDX-License-Identifier: Apache-2.0
// Gate and norm operators of com.microsoft for layers of recurrent language models: GatedRMSNorm,
// GatedAdd, ScaledSiLU, BranchwiseRMSNorm, LinearAttentionGate, EngramGate and the mixing of
// hyper-connections. Bodies compute in float32 and round where ONNX Runtime's definition does.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

std::vector<onnx::OpSchema> gated_schemas();

}  // namespace gantry
