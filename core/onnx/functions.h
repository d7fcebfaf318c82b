// SPDX-License-Identifier: Apache-2.0
// Inlining of functions: model-local functions and function bodies of operator schemas. The onnx
// library's inliner does the renaming; bodies of schemas are passed to it as functions of the
// model.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "onnx/messages/function_call.h"
#include "onnx/messages/proto.h"

namespace gantry {

/// Writes the defaults of absent attributes into calls of model-local functions and of operators
/// whose schema has a body: the body refers to them, and the library binds only attributes of the
/// call.
void add_default_attributes(onnx::ModelProto& model);

/// True if a call has a body: a model-local function, the function body of the operator's schema
/// under this opset, or the body that gradient.h derives from the graph.
bool has_function(const onnx::ModelProto& model, const std::map<std::string, int>& opsets,
                  const FunctionCall& call);

/// By name of a node whose operator has a body that cannot be built for the node: the reason, as
/// "expected ..., found ...".
using BodyRefusals = std::map<std::string, std::string>;

/// One round of inlining: replaces the wanted calls in the main graph and its bodies. True if there
/// were any. Requires inferred types; the new nodes have none. Adds to `refusals`. INVALID_MODEL:
/// recursive functions.
bool inline_once(onnx::ModelProto& model, const std::function<bool(const FunctionCall&)>& wanted,
                 BodyRefusals& refusals);

}  // namespace gantry
