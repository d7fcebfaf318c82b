// SPDX-License-Identifier: Apache-2.0
// The onnx library's type and shape inference, run on a model whose large tensors are placeholders.
// Any thread, one for a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onnx/messages/proto.h"
#include "onnx/validate/leniencies.h"

namespace gantry {

/// How names begin that inference makes up for extents that it does not know.
inline constexpr std::string_view kMadeUpSymbol = "unk__";

/// Writes inferred types into the value_info of every graph and body. Requires a normalized model.
/// INVALID_MODEL: types or shapes that contradict each other. Declared shapes of inner values and
/// outputs that contradict the inferred ones are dropped: exporters often leave stale ones behind,
/// and they are hints. `log`, if not null, gets them noted. Outputs without a type get the inferred
/// one, if there is one.
/// Returns the names of the model's outputs that no node reads and of whose shape nothing is known
/// but what the model declares, which only a run can find wrong.
std::vector<std::string> infer_types(onnx::ModelProto& model, FaultLog* log = nullptr);

}  // namespace gantry
