// SPDX-License-Identifier: Apache-2.0
#include "schedule/placement.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "plugin/error.h"

namespace gantry {
namespace {

const NodeRule* rule_for(const Node& node, const std::vector<NodeRule>& rules) {
  for (const NodeRule& rule : rules) {
    if (rule.matches(node)) return &rule;
  }
  return nullptr;
}

// A row as the provider gave it.
struct Row {
  std::vector<uint32_t> nodes;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::string kernel;
  uint64_t tag = 0;
  bool divisible = false;
};

struct Answers {
  std::vector<Row> rows;
  std::map<uint32_t, std::string> refusals;
};

std::vector<Port> copy_ports(const gantry_port* ports, uint32_t count, uint32_t stride) {
  std::vector<Port> copies(ports ? count : 0);
  for (uint32_t i = 0; i < copies.size(); ++i) {
    const auto* port = reinterpret_cast<const gantry_port*>(
        reinterpret_cast<const std::byte*>(ports) + size_t{i} * stride);
    copies[i].flags = port->flags;
    if (GANTRY_HAS(port, overwrites)) copies[i].overwrites = port->overwrites;
    if (GANTRY_HAS(port, repeats)) copies[i].repeats = port->repeats;
  }
  return copies;
}

Answers ask(const Candidate& candidate, const GraphView& view) {
  Answers answers;
  gantry_claim_sink sink = {};
  sink.size = sizeof(sink);
  sink.self = &answers;
  sink.claim = [](void* self, const gantry_claim* claim) {
    Row row;
    row.nodes.assign(claim->nodes, claim->nodes + claim->node_count);
    row.inputs = copy_ports(claim->inputs, claim->input_count, claim->port_size);
    row.outputs = copy_ports(claim->outputs, claim->output_count, claim->port_size);
    row.kernel = std::string(to_view(claim->kernel));
    row.tag = claim->tag;
    row.divisible = (claim->flags & GANTRY_CLAIM_DIVISIBLE) != 0;
    static_cast<Answers*>(self)->rows.push_back(std::move(row));
  };
  sink.refuse = [](void* self, uint32_t node, gantry_str reason) {
    static_cast<Answers*>(self)->refusals[node] = std::string(to_view(reason));
  };
  gantry_claim_request request = {};
  request.size = sizeof(request);
  request.device = candidate.device_index;
  request.graph = view.get();
  request.options = {candidate.options.data(), candidate.options.size()};
  request.sink = &sink;
  const gantry_provider_api& api = candidate.provider->api();
  try {
    throw_if(api.claim(api.self, &request), "claim");
  } catch (const Error& error) {
    answers.rows.clear();
    for (uint32_t i = 0; i < request.graph->node_count; ++i) answers.refusals[i] = error.message();
  }
  return answers;
}

// Builds the placement of one graph.
class Placer {
 public:
  Placer(const Graph& graph, const std::vector<Candidate>& candidates,
         const std::vector<NodeRule>& rules)
      : graph_(graph),
        candidates_(candidates),
        rules_(rules),
        result_(std::make_unique<GraphPlacement>()) {
    result_->graph = &graph;
    result_->view = std::make_unique<GraphView>(graph);
    result_->owner.assign(graph.nodes().size(), GraphPlacement::kNobody);
    result_->reasons.resize(graph.nodes().size());
  }

  std::unique_ptr<GraphPlacement> run() {
    for (const auto& node : graph_.nodes()) ruled_.push_back(rule_for(*node, rules_));
    for (const Candidate& candidate : candidates_) {
      if (complete()) break;
      Answers answers = ask(candidate, *result_->view);
      for (Row& row : answers.rows) take(candidate, row);
      keep_refusals(candidate, answers);
    }
    for (const auto& node : graph_.nodes()) {
      if (result_->owner[node->id] == GraphPlacement::kNobody && is_core_control_flow(*node)) {
        result_->owner[node->id] = GraphPlacement::kCore;
        result_->reasons[node->id] = "scheduled by the core";
        for (const Graph* body : node->bodies())
          result_->bodies[body] = place(*body, candidates_, rules_);
      }
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool complete() const {
    return std::none_of(result_->owner.begin(), result_->owner.end(),
                        [](int o) { return o == GraphPlacement::kNobody; });
  }

  void note(uint32_t node, const Candidate& candidate, const std::string& reason) {
    std::string& reasons = result_->reasons[node];
    if (!reasons.empty()) reasons += "; ";
    reasons += candidate.provider->name() + " on " + candidate.device.to_string() + ": " + reason;
  }

  void keep_refusals(const Candidate& candidate, const Answers& answers) {
    for (const auto& [node, reason] : answers.refusals) {
      if (node < graph_.nodes().size() && result_->owner[node] == GraphPlacement::kNobody)
        note(node, candidate, reason);
    }
    for (const auto& node : graph_.nodes()) {
      const bool silent = !answers.refusals.contains(node->id) &&
                          result_->owner[node->id] == GraphPlacement::kNobody;
      if (silent && result_->reasons[node->id].find(candidate.provider->name() + " on ") ==
                        std::string::npos) {
        note(node->id, candidate, "not claimed, and no reason was given");
      }
    }
  }

  // Takes the row, or what is left of it if it is divisible.
  void take(const Candidate& candidate, Row& row) {
    std::sort(row.nodes.begin(), row.nodes.end());
    const std::string fault = fault_of(candidate, row);
    if (fault.empty()) {
      add(candidate, row);
      return;
    }
    if (row.divisible && row.nodes.size() > 1) {
      for (const uint32_t node : row.nodes) {
        Row part;
        part.nodes = {node};
        part.kernel = row.kernel;
        part.tag = row.tag;
        take(candidate, part);
      }
      return;
    }
    for (const uint32_t node : row.nodes) {
      if (node < graph_.nodes().size() && result_->owner[node] == GraphPlacement::kNobody) {
        note(node, candidate, "claim dropped: " + fault);
      }
    }
  }

  // Why a row cannot be taken; empty: it can.
  std::string fault_of(const Candidate& candidate, const Row& row) {
    if (row.nodes.empty()) return "it names no node";
    for (size_t i = 0; i < row.nodes.size(); ++i) {
      const uint32_t node = row.nodes[i];
      if (node >= graph_.nodes().size())
        return "it names node " + std::to_string(node) + ", which the graph does not have";
      if (i > 0 && row.nodes[i - 1] == node) return "it names a node twice";
      if (result_->owner[node] != GraphPlacement::kNobody)
        return "another claim has one of its nodes already";
      if (ruled_[node] && ruled_[node]->device != candidate.device) {
        return "a placement rule sends this node to " + ruled_[node]->device.to_string();
      }
    }
    const ClaimSlots slots = slots_of(nodes_of(row));
    if (!row.inputs.empty() && row.inputs.size() != slots.inputs.size()) {
      return "it describes " + std::to_string(row.inputs.size()) + " input slots, its nodes have " +
             std::to_string(slots.inputs.size());
    }
    if (!row.outputs.empty() && row.outputs.size() != slots.outputs.size()) {
      return "it describes " + std::to_string(row.outputs.size()) +
             " output slots, its nodes have " + std::to_string(slots.outputs.size());
    }
    if (row.nodes.size() > 1 && closes_cycle(row))
      return "with its nodes as one step the graph would have a cycle";
    return {};
  }

  // Contracts every claim so far and this row to one vertex each and looks for a path that leaves
  // the row and returns to it.
  bool closes_cycle(const Row& row) {
    const auto group = [&](uint32_t node) -> int64_t {
      if (std::binary_search(row.nodes.begin(), row.nodes.end(), node)) return -1;
      const int owner = result_->owner[node];
      return owner >= 0 ? owner : static_cast<int64_t>(result_->claims.size()) + node;
    };
    std::unordered_set<int64_t> seen;
    std::vector<uint32_t> pending;
    bool found = false;
    const auto leave = [&](const Node& node, bool from_row) {
      for (const GraphValue* output : node.outputs) {
        if (!output) continue;
        for (const Node* user : output->users) {
          const int64_t to = group(user->id);
          if (to == -1) {
            found = found || !from_row;
          } else if (seen.insert(to).second) {
            if (result_->owner[user->id] >= 0) {
              for (const Node* member : result_->claims[static_cast<size_t>(to)].nodes)
                pending.push_back(member->id);
            } else {
              pending.push_back(user->id);
            }
          }
        }
      }
    };
    for (const uint32_t node : row.nodes) leave(*graph_.nodes()[node], true);
    while (!pending.empty() && !found) {
      const uint32_t node = pending.back();
      pending.pop_back();
      leave(*graph_.nodes()[node], false);
    }
    return found;
  }

  [[nodiscard]] std::vector<Node*> nodes_of(const Row& row) const {
    std::vector<Node*> nodes;
    for (const uint32_t node : row.nodes) nodes.push_back(graph_.nodes()[node].get());
    return nodes;
  }

  void add(const Candidate& candidate, Row& row) {
    Claim claim;
    claim.candidate = &candidate;
    claim.nodes = nodes_of(row);
    const ClaimSlots slots = slots_of(claim.nodes);
    claim.inputs = std::move(row.inputs);
    claim.outputs = std::move(row.outputs);
    claim.inputs.resize(slots.inputs.size());
    claim.outputs.resize(slots.outputs.size());
    claim.kernel = row.kernel;
    claim.tag = row.tag;
    for (const Node* node : claim.nodes)
      result_->owner[node->id] = static_cast<int>(result_->claims.size());
    result_->claims.push_back(std::move(claim));
  }

  const Graph& graph_;
  const std::vector<Candidate>& candidates_;
  const std::vector<NodeRule>& rules_;
  std::vector<const NodeRule*> ruled_;
  std::unique_ptr<GraphPlacement> result_;
};

}  // namespace

ClaimSlots slots_of(const std::vector<Node*>& nodes) {
  const std::unordered_set<const Node*> set(nodes.begin(), nodes.end());
  ClaimSlots slots;
  for (const Node* node : nodes) {
    const auto take = [&](GraphValue* value) {
      if (!value || !value->producer || !set.contains(value->producer))
        slots.inputs.push_back(value);
    };
    std::for_each(node->inputs.begin(), node->inputs.end(), take);
    std::for_each(node->captures.begin(), node->captures.end(), take);
    for (GraphValue* value : node->outputs) {
      const bool inner = value && !value->users.empty() && !node->graph->is_output(value) &&
                         std::all_of(value->users.begin(), value->users.end(),
                                     [&](const Node* u) { return set.contains(u); });
      if (!inner) slots.outputs.push_back(value);
    }
  }
  return slots;
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

std::unique_ptr<GraphPlacement> place(const Graph& graph, const std::vector<Candidate>& candidates,
                                      const std::vector<NodeRule>& rules) {
  return Placer(graph, candidates, rules).run();
}

void describe(const GraphPlacement& placement, const std::string& prefix,
              std::vector<NodePlacement>& rows) {
  for (const auto& node : placement.graph->nodes()) {
    NodePlacement row;
    row.node = prefix + node->name;
    row.op_type = node->op_type;
    row.domain = node->domain;
    row.reason = placement.reasons[node->id];
    const int owner = placement.owner[node->id];
    if (owner >= 0) {
      const Claim& claim = placement.claims[static_cast<size_t>(owner)];
      row.device = claim.candidate->device.to_string();
      row.provider = claim.candidate->provider->name();
      row.kernel = claim.kernel;
    } else if (owner == GraphPlacement::kCore) {
      row.device = "CPU:0";
      row.provider = "core";
      row.kernel = "control flow";
    }
    rows.push_back(std::move(row));
    if (owner != GraphPlacement::kCore) continue;
    for (const Attribute& attribute : node->attributes) {
      if (const auto* body = std::get_if<std::unique_ptr<Graph>>(&attribute.value)) {
        describe(*placement.bodies.at(body->get()),
                 prefix + node->name + "/" + attribute.name + "/", rows);
      }
    }
  }
}

}  // namespace gantry
