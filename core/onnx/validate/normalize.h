// SPDX-License-Identifier: Apache-2.0
// Normalizes parts of a model that have several forms: the default domain, constants, initializers.
// Any thread, one per model.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// Writes the default domain as "" everywhere, never as "ai.onnx".
void normalize_domains(onnx::ModelProto& model);

/// Moves the value of a Constant node's attribute into `tensor`, whose name is not set. False, and
/// nothing changed: the attribute has another form.
bool take_constant(onnx::AttributeProto& attribute, onnx::TensorProto& tensor);

/// Gives every graph and body one form: Constant nodes become initializers, and no initializer is
/// also an input. If the main graph of a model of IR version 4 or newer lists a dense initializer
/// as an input, it stays an input and the tensor is appended to `defaults`: a run may pass another
/// value, so nothing may be inferred from the default. Before IR version 4 every initializer had to
/// be listed as an input; there, and in bodies, it becomes a constant. Optional outputs of
/// com.microsoft operators that no node reads lose their names. Requires a checked model.
void normalize_model(onnx::ModelProto& model, std::vector<onnx::TensorProto>& defaults);

/// An input with a default that the nodes read as a constant.
struct ConstantInput {
  onnx::ValueInfoProto info;  ///< as the model declares it
  int position = 0;           ///< index among the inputs of a run
};

/// In a model of IR version 4 or newer, removes from the main graph's inputs those that are
/// initializers too and not in `open`, so that normalize_model leaves their initializers as
/// constants. Returns them in the order of the inputs. Requires a checked model.
std::vector<ConstantInput> make_defaults_constant(onnx::ModelProto& model,
                                                  const std::set<std::string>& open);

}  // namespace gantry
