// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that the standard took over later under other types or attributes, and
// small ones that a few of the standard's operators express: Trilu, Pad, Range, CDist and others.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

std::vector<onnx::OpSchema> tensor_schemas();

}  // namespace gantry
