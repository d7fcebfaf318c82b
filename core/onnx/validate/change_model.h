// SPDX-License-Identifier: Apache-2.0
// Makes the changes that the caller of a session wants in a model, before it is checked. Any
// thread, one per model.
#pragma once

#include <gantry/tensor.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "onnx/messages/payload.h"

namespace gantry {

/// Puts the given values in place of initializers, wherever the model has their bytes: those of an
/// external file need no file any more. The payloads share the values' memory. INVALID_ARGUMENT: no
/// such initializer, or another element type or shape than it declares.
void replace_initializers(onnx::ModelProto& model, const std::map<std::string, Value>& values,
                          std::vector<Payload>& payloads);

/// Gives dimensions their extents: those of inputs with a name or denotation of `extents`, and
/// those with the same name elsewhere. Returns a sentence for each entry that no input has.
std::vector<std::string> fix_dimensions(onnx::ModelProto& model,
                                        const std::map<std::string, int64_t>& extents);

/// Makes these values the outputs of the main graph; none: changes nothing. INVALID_ARGUMENT: no
/// value of the main graph has that name, or a name stands twice.
void choose_outputs(onnx::ModelProto& model, const std::vector<std::string>& names);

/// Takes away the shapes of these inputs of the main graph, so that they are of any rank, and the
/// shapes of all other values, those of bodies too, that are declared as numbers, which may follow
/// from theirs. Without names it changes nothing.
void open_ranks(onnx::ModelProto& model, const std::set<std::string>& inputs);

}  // namespace gantry
