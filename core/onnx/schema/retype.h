// SPDX-License-Identifier: Apache-2.0
// Whether a node means the same with tensors of another element type, by its operator's schema.
#pragma once

#include "graph/graph.h"

namespace gantry {

/// True if the node has tensors of type `from` and its operator takes `to` in place of each of
/// them: what the schema binds to one type changes together, and a result whose type an attribute
/// names (Cast, DequantizeLinear) by that attribute. False for operators
/// without a schema, with bodies, that look at bits, or with an input of an unknown type.
bool can_retype(const Node& node, DType from, DType to);

}  // namespace gantry
