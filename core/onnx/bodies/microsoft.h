// SPDX-License-Identifier: Apache-2.0
// Schemas of com.microsoft operators that ONNX Runtime's quantizers and optimizers write, with
// function bodies in ai.onnx operators. A provider may claim such a node; if none does, the body is
// inlined (docs/decisions/0025-function-bodies.md).
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

constexpr char kMicrosoftDomain[] = "com.microsoft";

/// The schemas, not finalized; made anew with each call. [any]
std::vector<onnx::OpSchema> microsoft_schemas();

}  // namespace gantry
