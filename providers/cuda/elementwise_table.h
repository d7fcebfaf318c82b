// SPDX-License-Identifier: Apache-2.0
// The element-wise operators: which nodes they are, and what each computes as an expression of the
// kernels' text. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/rows.h>

#include <string>
#include <vector>

namespace gantry::cuda {

/// How an input's axes stand to those of the node's first input.
constexpr int kAsNumpy = -1;  ///< aligned at the last axis; else the number of the axis that it has

/// A node as an element-wise function.
struct ElementwiseNode {
  /// The result as an expression of "{0}", "{1}", ..., the node's inputs.
  std::string expression;
  std::vector<int> alignment;  ///< by input
};

/// Why a node is not element-wise here, in a sentence without a final stop; empty: it is.
/// `is_known` is set to whether there is a row for its operator at all.
std::string elementwise_refusal(const sdk::NodeView& node, bool& out_is_known);

/// Requires a node that is not refused.
ElementwiseNode elementwise_node(const sdk::NodeView& node);

}  // namespace gantry::cuda
