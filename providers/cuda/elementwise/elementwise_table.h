// SPDX-License-Identifier: Apache-2.0
// The table of element-wise operators: conditions on a node, and the node's result as an expression
// in CUDA C++. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/rows.h>

#include <string>
#include <vector>

namespace gantry::cuda {

/// Alignment of an input to the node's first input: as NumPy broadcasts (at the last axis), or else
/// the index of the axis that a 1-D input runs along.
constexpr int kAsNumpy = -1;  ///< aligned at the last axis

/// An element-wise node as an expression.
struct ElementwiseNode {
  /// The result as an expression of "{0}", "{1}", ..., the node's inputs.
  std::string expression;
  std::vector<int> alignment;  ///< by input
};

/// Why a node is refused, in a sentence without a full stop; empty: it is accepted. `out_is_known`:
/// whether the table has the operator at all.
std::string elementwise_refusal(const sdk::NodeView& node, bool& out_is_known);

/// The expression of a node. Requires that elementwise_refusal accepted it.
ElementwiseNode elementwise_node(const sdk::NodeView& node);

}  // namespace gantry::cuda
