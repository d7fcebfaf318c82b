// SPDX-License-Identifier: Apache-2.0
// Placement: asks providers what of a graph they would run, and gives every node to one claim, in
// order of preference. Bodies of control-flow nodes that nobody claims whole are placed like any
// other graph. Compiles nothing. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gantry/session.h"
#include "placement/graph_placement.h"

namespace gantry {

/// Sends the nodes that match to a device, whatever the preference.
struct NodeRule {
  std::function<bool(const Node&)> matches;
  Device device;
};

/// How placement chooses beyond the order of the candidates.
struct PlacementPolicy {
  std::vector<FailedClaim> failed = {};  ///< rows of these sets are not taken
  std::vector<NodeRule> rules = {};      ///< the first that matches a node counts
  /// Move what costs less elsewhere, copies included; see move_to_lower_cost.
  bool cost_model = false;
};

/// Asks each candidate in turn. Rows that name foreign or repeated nodes, overlap earlier ones, or
/// would close a cycle are dropped one by one, with the reason kept; divisible ones lose the nodes
/// that they cannot have and are split where they would close a cycle. A claim call that fails
/// counts as a refusal of every node. Shape arithmetic goes to the host if a provider there takes
/// it. Requires dense ids (Graph::renumber). Takes time in the size of the graph times the number
/// of candidates.
std::unique_ptr<GraphPlacement> place(const Graph& graph, const std::vector<Candidate>& candidates,
                                      const PlacementPolicy& policy);

/// What the kernels of nodes say of themselves (gantry_kernel.implementation).
using Implementations = std::unordered_map<const Node*, std::string_view>;

/// The placement as users see it, bodies included; `wanted` and `fallback` are left empty.
Placement describe(const GraphPlacement& placement, const Implementations& implementations = {});

}  // namespace gantry
