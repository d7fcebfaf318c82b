// SPDX-License-Identifier: Apache-2.0
// Decides by an operator's schema whether a node can use tensors of another element type.
#pragma once

#include "graph/graph.h"

namespace gantry {

/// True if the node has tensors of type `from` and its operator supports `to` for each of them.
/// Tensors of one type variable change together, and a result whose type an attribute names (Cast,
/// DequantizeLinear) changes with that attribute. False for operators without a schema, with bodies
/// or on bits, and for nodes with an input of an unknown type.
bool can_retype(const Node& node, DType from, DType to);

}  // namespace gantry
