// SPDX-License-Identifier: Apache-2.0
// A placed graph: its claims, and for each node its claim and the refusals of other candidates.
// Code that only examines a placement includes this header and not placement.h.
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

/// A claim that its provider could not compile.
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

/// Why a row's ports do not match the slots of its nodes; empty: they do, or the row has no ports.
std::string slot_fault(const ClaimRow& row, const Graph& graph);

/// Makes the claim of a row. Requires that the row has no fault.
Claim to_claim(const Candidate& candidate, const ClaimRow& row, const Graph& graph);

/// Appends a sentence to the reasons of a node.
void add_reason(std::string& reasons, const std::string& reason);

/// True for a node that the core runs itself if no provider claims it: If, Loop, Scan.
bool is_core_control_flow(const Node& node);

/// Where the nodes of one graph run. Borrows the graph and the candidates.
struct GraphPlacement {
  static constexpr int kNobody = -1;
  static constexpr int kCore = -2;

  const Graph* graph = nullptr;
  std::unique_ptr<GraphView> view;  ///< the view that claimed; compile needs the same ids
  std::vector<Claim> claims;
  std::vector<int> owner;  ///< by node id: index into claims, kNobody or kCore
  /// by node id: refusals of the candidates that are preferred to the owner
  std::vector<std::string> reasons;
  /// by node id: the most preferred candidate that does not run the node; null: the owner is the
  /// most preferred
  std::vector<const Candidate*> passed_over;
  std::map<const Graph*, std::unique_ptr<GraphPlacement>> bodies;  ///< of kCore nodes

  /// True if every node here and in the bodies has an owner.
  [[nodiscard]] bool complete() const;
};

}  // namespace gantry
