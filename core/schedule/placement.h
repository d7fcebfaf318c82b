// SPDX-License-Identifier: Apache-2.0
// Placement: asks providers what of a graph they would run, and gives every node to one claim, in
// order of preference. Bodies of control-flow nodes that nobody claims whole are placed like any
// other graph. Compiles nothing. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gantry/device.h"
#include "gantry/session.h"
#include "graph/graph.h"
#include "plugin/graph_view.h"
#include "schedule/claim_rows.h"

namespace gantry {

/// Sends the nodes that match to a device, whatever the preference.
struct NodeRule {
  std::function<bool(const Node&)> matches;
  Device device;
};

/// A set of nodes that a provider claimed and could not compile.
struct FailedClaim {
  const Graph* graph = nullptr;
  std::string provider;
  Device device;
  std::vector<uint32_t> nodes;  ///< ids, ascending
  std::string reason;
};

/// How placement chooses beyond the order of the candidates.
struct PlacementPolicy {
  std::vector<FailedClaim> failed = {};  ///< rows of these sets are not taken
  std::vector<NodeRule> rules = {};      ///< the first that matches a node counts
  /// Move what costs less elsewhere, copies included; see move_to_lower_cost.
  bool cost_model = false;
};

/// A set of nodes run as one kernel by one provider.
struct Claim {
  const Candidate* candidate = nullptr;
  std::vector<Node*> nodes;   ///< in graph order
  std::vector<Port> inputs;   ///< by input slot
  std::vector<Port> outputs;  ///< by output slot
  std::string kernel;
  uint64_t tag = 0;
  double time_ns = -1;  ///< as the provider estimates it; negative: unknown
  uint64_t workspace_bytes = 0;
};

/// The slots of a set of nodes by the rule in provider.h, section 3.
struct ClaimSlots {
  std::vector<GraphValue*> inputs;   ///< null: empty slot
  std::vector<GraphValue*> outputs;  ///< null: absent output
};
ClaimSlots slots_of(const std::vector<Node*>& nodes);

/// Why a row's ports do not fit the slots of its nodes; empty: they do, or there are none.
std::string slot_fault(const ClaimRow& row, const Graph& graph);

/// The claim that a row makes. Requires: no fault.
Claim to_claim(const Candidate& candidate, const ClaimRow& row, const Graph& graph);

/// Appends a sentence to those that a node has already.
void add_reason(std::string& reasons, const std::string& reason);

/// True for a node that the core schedules itself when nobody claims it: If, Loop, Scan.
bool is_core_control_flow(const Node& node);

/// Where the nodes of one graph run. Borrows the graph and the candidates.
struct GraphPlacement {
  static constexpr int kNobody = -1;
  static constexpr int kCore = -2;

  const Graph* graph = nullptr;
  std::unique_ptr<GraphView> view;  ///< what the providers saw; compile needs the same ids
  std::vector<Claim> claims;
  std::vector<int> owner;  ///< by node id: index into claims, kNobody or kCore
  /// by node id: refusals of the candidates that came before the owner
  std::vector<std::string> reasons;
  /// by node id: the first candidate that comes before the owner and does not run it; null: none
  std::vector<const Candidate*> passed_over;
  std::map<const Graph*, std::unique_ptr<GraphPlacement>> bodies;  ///< of kCore nodes

  /// True if every node here and in the bodies has an owner.
  [[nodiscard]] bool complete() const;
};

/// Asks each candidate in turn. Rows that name foreign or repeated nodes, overlap earlier ones, or
/// would close a cycle are dropped one by one, with the reason kept; divisible ones lose the nodes
/// that they cannot have and are split where they would close a cycle. A claim call that fails
/// counts as a refusal of every node. Shape arithmetic goes to the host if a provider there takes
/// it. Requires dense ids (Graph::renumber). Takes time in the size of the graph times the number
/// of candidates.
std::unique_ptr<GraphPlacement> place(const Graph& graph, const std::vector<Candidate>& candidates,
                                      const PlacementPolicy& policy);

/// The placement as users see it, bodies included; `wanted` and `fallback` are left empty.
Placement describe(const GraphPlacement& placement);

}  // namespace gantry
