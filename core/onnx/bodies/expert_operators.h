// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts of com.microsoft: MoE, and QMoE, whose weights have few bits.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// The bodies compute every expert for every token and weigh the results, of which most weights
/// are 0. There is none for the sparse mixer, for weights of floats of 8 or 4 bits and for weights
/// that are packed for one device.
std::vector<onnx::OpSchema> expert_schemas();

}  // namespace gantry
