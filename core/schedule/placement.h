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
#include "plugin/provider.h"

namespace gantry {

/// A provider of a device, in order of preference.
struct Candidate {
  std::shared_ptr<PluginProvider> provider;
  uint32_t device_index = 0;  ///< as the provider enumerated it
  Device device;
  std::string options = "{}";  ///< the provider's options for this session, JSON
};

/// Sends the nodes that match to a device, whatever the preference.
struct NodeRule {
  std::function<bool(const Node&)> matches;
  Device device;
};

/// What a kernel wants of a slot; the host's copy of gantry_port.
struct Port {
  uint32_t flags = 0;
  uint64_t overwrites = 0;
  uint32_t repeats = UINT32_MAX;
};

/// A set of nodes run as one kernel by one provider.
struct Claim {
  const Candidate* candidate = nullptr;
  std::vector<Node*> nodes;   ///< in graph order
  std::vector<Port> inputs;   ///< by input slot
  std::vector<Port> outputs;  ///< by output slot
  std::string kernel;
  uint64_t tag = 0;
};

/// The slots of a set of nodes by the rule in provider.h, section 3.
struct ClaimSlots {
  std::vector<GraphValue*> inputs;   ///< null: empty slot
  std::vector<GraphValue*> outputs;  ///< null: absent output
};
ClaimSlots slots_of(const std::vector<Node*>& nodes);

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
  std::map<const Graph*, std::unique_ptr<GraphPlacement>> bodies;  ///< of kCore nodes

  /// True if every node here and in the bodies has an owner.
  [[nodiscard]] bool complete() const;
};

/// Asks each candidate in turn. Rows that name foreign or repeated nodes, overlap earlier ones, or
/// would close a cycle are dropped one by one (split to single nodes where divisible), with the
/// reason kept. A claim call that fails counts as a refusal of every node. Requires dense ids
/// (Graph::renumber).
std::unique_ptr<GraphPlacement> place(const Graph& graph, const std::vector<Candidate>& candidates,
                                      const std::vector<NodeRule>& rules);

/// The placement as users see it: a row per node, bodies included, `prefix` in front of their
/// names.
void describe(const GraphPlacement& placement, const std::string& prefix,
              std::vector<NodePlacement>& rows);

}  // namespace gantry
