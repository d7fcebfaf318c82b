// SPDX-License-Identifier: Apache-2.0
// Limits the size of a model after all its functions are inlined.
#pragma once

#include "onnx/messages/proto.h"

namespace gantry {

/// UNSUPPORTED: inlining the functions, nested calls included, gives more than 500,000 nodes or
/// 50,000 calls. Types are inferred for each call, so a file of a few hundred bytes could take
/// hours. Recursive functions are left to check_model.
void check_expansion(const onnx::ModelProto& model);

}  // namespace gantry
