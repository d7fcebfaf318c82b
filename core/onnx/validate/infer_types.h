// SPDX-License-Identifier: Apache-2.0
// Runs the onnx library's type and shape inference on a model whose large tensors are placeholders.
// Any thread, one per model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onnx/messages/proto.h"
#include "onnx/schema/declared_schemas.h"
#include "onnx/validate/leniencies.h"

namespace gantry {

/// Prefix of the names that shape inference generates for unknown extents.
inline constexpr std::string_view kMadeUpSymbol = "unk__";

/// Writes inferred types into the value_info of every graph and body. Requires a normalized model.
/// Declared shapes of inner values and outputs that contradict the inferred ones are dropped, as
/// exporters often leave stale ones; `log`, if not null, receives them. Outputs without a type get
/// the inferred type, if there is one. INVALID_MODEL: types or shapes that contradict each other.
/// Returns the names of the model's outputs that no node reads and whose shape is only declared,
/// not inferred; a run may find that shape wrong. `schemas`: of the operators.
std::vector<std::string> infer_types(onnx::ModelProto& model, const DeclaredSchemas& schemas,
                                     FaultLog* log = nullptr);

}  // namespace gantry
