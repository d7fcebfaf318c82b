// SPDX-License-Identifier: Apache-2.0
// How large a model becomes with the bodies of its functions in place of their calls.
#pragma once

#include "onnx/messages/proto.h"

namespace gantry {

/// Refuses a model whose functions, which may call each other, stand for more than 500,000 nodes or
/// are called more than 50,000 times: types are inferred in each call anew, and a file of a few
/// hundred bytes could take hours. UNSUPPORTED. Functions that call each other in a circle are left
/// to check_model.
void check_expansion(const onnx::ModelProto& model);

}  // namespace gantry
