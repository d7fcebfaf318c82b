// SPDX-License-Identifier: Apache-2.0
// The last step of import: a checked, normalized model with inferred types becomes a Graph.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "onnx/messages/payload.h"
#include "onnx/validate/normalize.h"

namespace gantry {

/// The main graph. Initializers become constants; bodies get constants of their own for the outer
/// ones they read, and captures for other outer values. `defaults` are the initial values of the
/// inputs that they name. `constants` become inputs that nothing reads; their initial values are
/// the initializers of their names, which nodes read under other names. INVALID_MODEL: a tensor
/// that does not match its shape or its input, a shape too large, a value that is not defined.
std::unique_ptr<Graph> import_graph(const onnx::ModelProto& model,
                                    const std::vector<onnx::TensorProto>& defaults,
                                    const std::vector<ConstantInput>& constants,
                                    const std::map<std::string, int>& opsets,
                                    const std::vector<Payload>& payloads);

}  // namespace gantry
