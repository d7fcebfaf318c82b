// SPDX-License-Identifier: Apache-2.0
#include "placement/graph_placement.h"

#include <algorithm>
#include <unordered_set>

namespace gantry {
namespace {

std::vector<Node*> nodes_of(const ClaimRow& row, const Graph& graph) {
  std::vector<Node*> nodes;
  nodes.reserve(row.nodes.size());
  for (const uint32_t node : row.nodes) nodes.push_back(graph.nodes()[node].get());
  return nodes;
}

}  // namespace

ClaimSlots slots_of(const std::vector<Node*>& nodes) {
  // Most claims have one node, for which building a set would be most of the work.
  std::unordered_set<const Node*> set;
  if (nodes.size() > 1) set.insert(nodes.begin(), nodes.end());
  const auto is_inside = [&](const Node* node) {
    return nodes.size() == 1 ? node == nodes.front() : set.contains(node);
  };
  ClaimSlots slots;
  for (const Node* node : nodes) {
    const auto take = [&](GraphValue* value) {
      if (!value || !value->producer || !is_inside(value->producer)) slots.inputs.push_back(value);
    };
    std::for_each(node->inputs.begin(), node->inputs.end(), take);
    std::for_each(node->captures.begin(), node->captures.end(), take);
    for (GraphValue* value : node->outputs) {
      const bool inner = value && !value->users.empty() &&
                         std::all_of(value->users.begin(), value->users.end(), is_inside) &&
                         !value->is_output();
      if (!inner) slots.outputs.push_back(value);
    }
  }
  return slots;
}

std::string slot_fault(const ClaimRow& row, const Graph& graph) {
  if (row.inputs.empty() && row.outputs.empty()) return {};
  const ClaimSlots slots = slots_of(nodes_of(row, graph));
  const auto mismatch = [](size_t described, size_t expected, const char* kind) {
    return "it describes " + std::to_string(described) + " " + kind + " slots, its nodes have " +
           std::to_string(expected);
  };
  if (!row.inputs.empty() && row.inputs.size() != slots.inputs.size())
    return mismatch(row.inputs.size(), slots.inputs.size(), "input");
  if (!row.outputs.empty() && row.outputs.size() != slots.outputs.size())
    return mismatch(row.outputs.size(), slots.outputs.size(), "output");
  return {};
}

Claim to_claim(const Candidate& candidate, const ClaimRow& row, const Graph& graph) {
  Claim claim;
  claim.candidate = &candidate;
  claim.nodes = nodes_of(row, graph);
  const ClaimSlots slots = slots_of(claim.nodes);
  claim.inputs = row.inputs;
  claim.outputs = row.outputs;
  claim.inputs.resize(slots.inputs.size());
  claim.outputs.resize(slots.outputs.size());
  claim.kernel = row.kernel;
  claim.tag = row.tag;
  claim.time_ns = row.time_ns;
  claim.workspace_bytes = row.workspace_bytes;
  return claim;
}

void add_reason(std::string& reasons, const std::string& reason) {
  if (!reasons.empty()) reasons += "; ";
  reasons += reason;
}

bool is_core_control_flow(const Node& node) {
  return node.domain.empty() &&
         (node.op_type == "If" || node.op_type == "Loop" || node.op_type == "Scan");
}

bool GraphPlacement::complete() const {
  return std::none_of(owner.begin(), owner.end(), [](int o) { return o == kNobody; }) &&
         std::all_of(bodies.begin(), bodies.end(),
                     [](const auto& body) { return body.second->complete(); });
}

}  // namespace gantry
