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

/// Builds the main graph. Initializers become constants. A body has its own copies of the outer
/// constants that it reads, and captures for other outer values. `defaults`: default values of the
/// inputs of these names. `constants`: become inputs that no node reads; their default values are
/// the initializers of these names, which nodes read under other names. INVALID_MODEL: a tensor
/// that does not match its shape or its input, a shape that is too large, or an undefined value.
std::unique_ptr<Graph> import_graph(const onnx::ModelProto& model,
                                    const std::vector<onnx::TensorProto>& defaults,
                                    const std::vector<ConstantInput>& constants,
                                    const std::map<std::string, int>& opsets,
                                    const std::vector<Payload>& payloads);

}  // namespace gantry
