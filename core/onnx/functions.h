// SPDX-License-Identifier: Apache-2.0
// Functions: which operators have a body in the model or in their schema, and putting bodies in
// place of calls. The onnx library's inliner does the renaming; bodies from schemas are handed to
// it as functions of the model.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "onnx/messages/function_call.h"
#include "onnx/messages/proto.h"

namespace gantry {

/// Writes the defaults of absent attributes into calls of functions of the model and of operators
/// whose schema has a body: the body refers to them, and the library binds only what the call says.
void add_default_attributes(onnx::ModelProto& model);

/// True if a call has a body: a function of the model, one in the operator's schema under this
/// opset, or the one that gradient.h derives from the graph.
bool has_function(const onnx::ModelProto& model, const std::map<std::string, int>& opsets,
                  const FunctionCall& call);

/// By name of a node whose operator has a body that cannot be built for it: why, as "expected ...,
/// found ...".
using BodyRefusals = std::map<std::string, std::string>;

/// One round: replaces the wanted calls in the main graph and its bodies. True if there were any.
/// Requires inferred types; leaves the new nodes without. Adds to `refusals`. INVALID_MODEL:
/// functions that call each other in a circle.
bool inline_once(onnx::ModelProto& model, const std::function<bool(const FunctionCall&)>& wanted,
                 BodyRefusals& refusals);

}  // namespace gantry
