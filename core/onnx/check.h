// SPDX-License-Identifier: Apache-2.0
// What stands between the parsed messages and the graph: the onnx library's checker and shape
// inference, run on a model whose large tensors are placeholders, and the one form of constants
// that the rest reads.
#pragma once

#include <vector>

#include "onnx/payload.h"

namespace gantry {

/// Spells the default domain "" everywhere, never "ai.onnx".
void normalize_domains(onnx::ModelProto& model);

/// Runs the onnx checker. INVALID_MODEL: the first rule that is broken, as one sentence naming the
/// node; also a payload whose size does not match its tensor's shape.
void check_model(onnx::ModelProto& model, const std::vector<Payload>& payloads);

/// Gives every graph and body one form: Constant nodes become initializers, and no initializer is
/// also an input. Of the main graph's that were both, the dense ones of a model of IR version 4 or
/// newer stay inputs, and the tensors go to the end of `defaults`: a run may give such an input
/// another value, so nothing may be concluded from this one. Before IR version 4 every initializer
/// had to be listed as an input, which says nothing; there, and in bodies, it becomes a constant.
/// Requires a checked model.
void normalize_model(onnx::ModelProto& model, std::vector<onnx::TensorProto>& defaults);

/// Writes inferred types into the value_info of every graph and body. Requires a normalized model.
/// INVALID_MODEL: types or shapes that contradict each other. Declared shapes of inner values and
/// outputs that contradict the inferred ones are dropped: exporters often leave stale ones behind,
/// and they are hints.
void infer_types(onnx::ModelProto& model);

}  // namespace gantry
