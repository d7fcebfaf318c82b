// SPDX-License-Identifier: Apache-2.0
// The edits that passes share.
#pragma once

#include "graph/graph.h"

namespace gantry {

/// Replaces all uses of `from` by `to`, keeping the names of graph outputs. False, and nothing
/// changed: `from` is a graph output, and `to` cannot take its name because it is itself a graph
/// output, an input, a capture or a constant.
bool try_replace(Graph& graph, GraphValue* from, GraphValue* to);

/// Makes `node`, which has no output yet, the producer of `value`; the old producer is removed.
void take_over(Graph& graph, GraphValue* value, Node* node);

/// Makes the value a constant, with the constant's type and without a producer.
void make_constant(GraphValue* value, ValueRef constant);

/// A view of a constant as a tensor of another shape; null: the shape has unknown extents or
/// another number of elements, or the constant is a string tensor or no tensor.
ValueRef reshaped(const ValueRef& constant, const std::vector<int64_t>& shape);

}  // namespace gantry
