// SPDX-License-Identifier: Apache-2.0
// Operators of the domain com.microsoft.nchwc, which ONNX Runtime writes to a model saved with all
// optimizations. There tensors between them are in blocked layout (NCHWc), as are the weights. Here
// tensors stay NCHW, with channels padded to whole blocks, and bodies unpack the weights.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

constexpr char kNchwcDomain[] = "com.microsoft.nchwc";

std::vector<onnx::OpSchema> nchwc_schemas();

}  // namespace gantry
