// SPDX-License-Identifier: Apache-2.0
// The edits that passes share.
#pragma once

#include "graph/graph.h"

namespace gantry {

/// Lets `to` stand for `from` everywhere, keeping the names of graph outputs. False, and nothing is
/// changed: `from` is a graph output whose name `to` cannot take, being a graph output, an input, a
/// capture or a constant itself.
bool try_replace(Graph& graph, GraphValue* from, GraphValue* to);

/// `node`, which has no output yet, makes `value` from now on; its producer is removed.
void take_over(Graph& graph, GraphValue* value, Node* node);

/// The value becomes a constant, whatever it was known to be before; its producer no longer is one.
void make_constant(GraphValue* value, ValueRef constant);

/// The memory of a constant as a tensor of another shape; null where there is no such tensor.
ValueRef reshaped(const ValueRef& constant, const std::vector<int64_t>& shape);

}  // namespace gantry
