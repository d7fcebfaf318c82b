// SPDX-License-Identifier: Apache-2.0
// Which operator of a library a node means: a library may have several of one name, for different
// element types. Pure.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <string>
#include <vector>

#include "custom_ops/library.h"

namespace gantry::ort {

/// The first operator of the node's domain and name that takes the node's inputs and outputs; null:
/// there is none, and `reason` says why, a sentence without a final stop. Inputs whose type is not
/// known fit every operator.
std::shared_ptr<const DeclaredOp> select_operator(const DeclaredOps& operators,
                                                  const sdk::NodeView& node, std::string& reason);

/// The element type of an output of the node: what the model says, else what the operator declares,
/// where that is "any" the type of the first input that is declared so. 0: not known.
uint32_t output_dtype(const DeclaredOp& declared, const sdk::NodeView& node, int output);

/// The operators as the manifest's member `operators` has them, as JSON text.
std::string to_json(const DeclaredOps& operators);

}  // namespace gantry::ort
