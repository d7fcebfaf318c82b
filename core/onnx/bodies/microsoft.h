// SPDX-License-Identifier: Apache-2.0
// Operators of the domain com.microsoft that ONNX Runtime's quantizers and optimizers write, as
// schemas with bodies in terms of ai.onnx. A provider may claim such a node whole; where none does,
// the body takes its place (docs/decisions/0025-function-bodies.md).
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

constexpr char kMicrosoftDomain[] = "com.microsoft";

/// The schemas, not finalized; made anew with each call. [any]
std::vector<onnx::OpSchema> microsoft_schemas();

}  // namespace gantry
