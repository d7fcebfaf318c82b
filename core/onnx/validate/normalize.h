// SPDX-License-Identifier: Apache-2.0
// One form for what models may write in several: the default domain, constants, initializers. Any
// thread, one for a model.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// Spells the default domain "" everywhere, never "ai.onnx".
void normalize_domains(onnx::ModelProto& model);

/// Moves the value that the attribute of a Constant node gives into `tensor`; a name is not set.
/// False: the attribute has another form; nothing is changed.
bool take_constant(onnx::AttributeProto& attribute, onnx::TensorProto& tensor);

/// Gives every graph and body one form: Constant nodes become initializers, and no initializer is
/// also an input. Of the main graph's that were both, the dense ones of a model of IR version 4 or
/// newer stay inputs, and the tensors go to the end of `defaults`: a run may give such an input
/// another value, so nothing may be concluded from this one. Before IR version 4 every initializer
/// had to be listed as an input, which says nothing; there, and in bodies, it becomes a constant.
/// Optional outputs of com.microsoft's operators that nothing reads lose their names. Requires a
/// checked model.
void normalize_model(onnx::ModelProto& model, std::vector<onnx::TensorProto>& defaults);

/// An input with a default that the nodes read as a constant.
struct ConstantInput {
  onnx::ValueInfoProto info;  ///< as the model declares it
  int position = 0;           ///< among the inputs that a run may give
};

/// Of the main graph's inputs that are initializers too, in a model of IR version 4 or newer, takes
/// those whose names are not in `open` out of the list of inputs, so that normalize_model leaves
/// their initializers as constants. In the order of the inputs. Requires a checked model.
std::vector<ConstantInput> make_defaults_constant(onnx::ModelProto& model,
                                                  const std::set<std::string>& open);

}  // namespace gantry
