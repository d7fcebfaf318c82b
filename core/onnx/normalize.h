// SPDX-License-Identifier: Apache-2.0
// One form for what models may write in several: the default domain, constants, initializers. Any
// thread, one for a model.
#pragma once

#include <vector>

#include "onnx/proto.h"

namespace gantry {

/// Spells the default domain "" everywhere, never "ai.onnx".
void normalize_domains(onnx::ModelProto& model);

/// Gives every graph and body one form: Constant nodes become initializers, and no initializer is
/// also an input. Of the main graph's that were both, the dense ones of a model of IR version 4 or
/// newer stay inputs, and the tensors go to the end of `defaults`: a run may give such an input
/// another value, so nothing may be concluded from this one. Before IR version 4 every initializer
/// had to be listed as an input, which says nothing; there, and in bodies, it becomes a constant.
/// Requires a checked model.
void normalize_model(onnx::ModelProto& model, std::vector<onnx::TensorProto>& defaults);

}  // namespace gantry
