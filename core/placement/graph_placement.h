// SPDX-License-Identifier: Apache-2.0
// A placed graph: its claims, and which of them, or which refusals, each node has. Nothing here
// asks a provider, so that what examines a placement needs no more than these types.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gantry/device.h"
#include "graph/graph.h"
#include "placement/claim_rows.h"
#include "plugin/graph_view.h"

namespace gantry {

/// A set of nodes that a provider claimed and could not compile.
struct FailedClaim {
  const Graph* graph = nullptr;
  std::string provider;
  Device device;
  std::vector<uint32_t> nodes;  ///< ids, ascending
  std::string reason;
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

}  // namespace gantry
