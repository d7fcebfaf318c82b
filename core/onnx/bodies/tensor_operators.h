// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that ai.onnx adopted later with other types or attributes, and small
// ones with bodies of a few ai.onnx operators: Trilu, Pad, Range, CDist and others.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

std::vector<onnx::OpSchema> tensor_schemas();

}  // namespace gantry
