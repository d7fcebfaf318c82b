// SPDX-License-Identifier: Apache-2.0
// The onnx library's checker, run on a model whose large tensors are placeholders. Any thread, one
// for a model.
#pragma once

#include <vector>

#include "onnx/messages/payload.h"

namespace gantry {

/// Runs the onnx checker. INVALID_MODEL: the first rule that is broken, as one sentence naming the
/// node; also a payload whose size does not match its tensor's shape.
void check_model(onnx::ModelProto& model, const std::vector<Payload>& payloads);

}  // namespace gantry
