// SPDX-License-Identifier: Apache-2.0
// Operators of the domain com.microsoft.nchwc, which ONNX Runtime writes when it saves a model with
// all its optimizations. Tensors between them have their channels in blocks, and weights are packed
// in such blocks; here tensors keep the standard's order, with channels filled up to whole blocks,
// and bodies bring weights back to it.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

constexpr char kNchwcDomain[] = "com.microsoft.nchwc";

std::vector<onnx::OpSchema> nchwc_schemas();

}  // namespace gantry
