// SPDX-License-Identifier: Apache-2.0
// Runs the onnx library's checker on a model whose large tensors are placeholders. Any thread, one
// per model.
#pragma once

#include <vector>

#include "onnx/messages/payload.h"

namespace gantry {

/// Checks the model. INVALID_MODEL: the first violated rule, as one sentence naming the node; also
/// a payload whose size does not match its tensor's shape.
void check_model(onnx::ModelProto& model, const std::vector<Payload>& payloads);

}  // namespace gantry
