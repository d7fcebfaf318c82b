// SPDX-License-Identifier: Apache-2.0
// Placement: asks the providers for their claims on a graph, and grants every node to one claim, in
// order of preference. Bodies of control-flow nodes that no provider claims are placed like any
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

/// Places the nodes that match on a device, whatever the preference.
struct NodeRule {
  std::function<bool(const Node&)> matches;
  Device device;
};

/// Options of placement besides the order of the candidates.
struct PlacementPolicy {
  std::vector<FailedClaim> failed = {};  ///< claims of these sets are not granted again
  std::vector<NodeRule> rules = {};      ///< the first that matches a node applies
  /// move claims to devices where they cost less, copies included; see move_to_lower_cost
  bool cost_model = false;
};

/// Asks each candidate in turn. A claim that names unknown or repeated nodes, overlaps an earlier
/// claim or would close a cycle is not granted, with the reason recorded. A divisible claim loses
/// the nodes that it cannot have, and is split where it would close a cycle. A claim call that
/// fails counts as a refusal of every node. Shape arithmetic is moved to the host if a provider
/// there claims it. Requires dense ids (Graph::renumber). Takes time in the size of the graph times
/// the number of candidates.
std::unique_ptr<GraphPlacement> place(const Graph& graph, const std::vector<Candidate>& candidates,
                                      const PlacementPolicy& policy);

/// gantry_kernel.implementation of the kernels, by node.
using Implementations = std::unordered_map<const Node*, std::string_view>;

/// The placement as users see it, bodies included; `wanted` and `fallback` are left empty.
Placement describe(const GraphPlacement& placement, const Implementations& implementations = {});

}  // namespace gantry
