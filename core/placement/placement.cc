// SPDX-License-Identifier: Apache-2.0
#include "placement/placement.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "base/assert.h"
#include "base/run_limits.h"
#include "placement/contraction.h"
#include "placement/relocation.h"

namespace gantry {
namespace {

const NodeRule* rule_for(const Node& node, const std::vector<NodeRule>& rules) {
  for (const NodeRule& rule : rules) {
    if (rule.matches(node)) return &rule;
  }
  return nullptr;
}

// Builds the placement of one graph.
class Placer {
 public:
  Placer(const Graph& graph, const std::vector<Candidate>& candidates,
         const PlacementPolicy& policy)
      : graph_(graph),
        candidates_(candidates),
        policy_(policy),
        contraction_(graph),
        result_(std::make_unique<GraphPlacement>()) {
    result_->graph = &graph;
    result_->view = std::make_unique<GraphView>(graph);
    result_->owner.assign(graph.nodes().size(), GraphPlacement::kNobody);
    result_->reasons.resize(graph.nodes().size());
    result_->passed_over.resize(graph.nodes().size());
    last_noted_.resize(graph.nodes().size());
    for (const auto& node : graph.nodes()) ruled_.push_back(rule_for(*node, policy.rules));
  }

  std::unique_ptr<GraphPlacement> run() {
    const bool may_move = has_both_memories();
    std::vector<CandidateAnswers> all;
    for (const Candidate& candidate : candidates_) {
      if (!may_move && is_complete()) break;
      poll_load("provider " + candidate.provider->name() + " was asked for its claims");
      all.push_back({&candidate, ask_claims(candidate, *result_->view)});
      strike_failed(candidate, all.back().answers.rows);
      for (const ClaimRow& row : all.back().answers.rows) take(candidate, row);
      keep_refusals(candidate, all.back().answers);
    }
    place_bodies();
    if (may_move) move(all);
    GANTRY_ASSERT(are_owned_once(), "each node of a claim belongs to that claim and to no other");
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_complete() const {
    return std::none_of(result_->owner.begin(), result_->owner.end(),
                        [](int o) { return o == GraphPlacement::kNobody; });
  }

  [[nodiscard]] bool are_owned_once() const {
    size_t owned = 0;
    for (size_t i = 0; i < result_->claims.size(); ++i) {
      for (const Node* node : result_->claims[i].nodes) {
        if (result_->owner[node->id] != static_cast<int>(i)) return false;
        ++owned;
      }
    }
    return static_cast<size_t>(std::count_if(result_->owner.begin(), result_->owner.end(),
                                             [](int o) { return o >= 0; })) == owned;
  }

  // Removes claims that could not be compiled: a claim of exactly that set is dropped, a divisible
  // claim loses its nodes.
  void strike_failed(const Candidate& candidate, std::vector<ClaimRow>& rows) const {
    for (const FailedClaim& failed : policy_.failed) {
      if (failed.graph != &graph_ || failed.device != candidate.device ||
          failed.provider != candidate.provider->name())
        continue;
      for (ClaimRow& row : rows) {
        if (row.nodes == failed.nodes) {
          row.fault = "compile failed: " + failed.reason;
        } else if (row.divisible && std::includes(row.nodes.begin(), row.nodes.end(),
                                                  failed.nodes.begin(), failed.nodes.end())) {
          std::erase_if(row.nodes, [&](uint32_t node) {
            return std::binary_search(failed.nodes.begin(), failed.nodes.end(), node);
          });
          row.inputs.clear();  // the ports describe the slots of the full set
          row.outputs.clear();
        }
      }
    }
  }

  [[nodiscard]] bool has_both_memories() const {
    const auto on_host = std::count_if(candidates_.begin(), candidates_.end(),
                                       [](const Candidate& c) { return c.has_host_memory(); });
    return policy_.cost_model || (on_host > 0 && static_cast<size_t>(on_host) < candidates_.size());
  }

  void move(const std::vector<CandidateAnswers>& answers) {
    std::vector<uint8_t> is_pinned;
    is_pinned.reserve(ruled_.size());
    for (const NodeRule* rule : ruled_) is_pinned.push_back(rule ? 1 : 0);
    move_shape_arithmetic(*result_, answers, is_pinned);
    if (policy_.cost_model) move_to_lower_cost(*result_, answers, is_pinned);
  }

  void place_bodies() {
    for (const auto& node : graph_.nodes()) {
      if (result_->owner[node->id] != GraphPlacement::kNobody || !is_core_control_flow(*node))
        continue;
      result_->owner[node->id] = GraphPlacement::kCore;
      result_->reasons[node->id] = "scheduled by the core";
      for (const Graph* body : node->bodies())
        result_->bodies[body] = place(*body, candidates_, policy_);
    }
  }

  void note(uint32_t node, const Candidate& candidate, const std::string& reason) {
    last_noted_[node] = &candidate;
    add_reason(result_->reasons[node],
               candidate.provider->name() + " on " + candidate.device.to_string() + ": " + reason);
    // A node that a rule places elsewhere was not passed over by this candidate.
    if (!result_->passed_over[node] && !is_sent_elsewhere(candidate, node))
      result_->passed_over[node] = &candidate;
  }

  void keep_refusals(const Candidate& candidate, const ClaimAnswers& answers) {
    for (uint32_t node = 0; node < graph_.nodes().size(); ++node) {
      if (result_->owner[node] != GraphPlacement::kNobody) continue;
      if (!answers.refusals[node].empty()) {
        note(node, candidate, answers.refusals[node]);
      } else if (last_noted_[node] != &candidate) {
        note(node, candidate, "not claimed, and no reason was given");
      }
    }
  }

  // Grants the claim, or the nodes of a divisible claim that the candidate can have.
  void take(const Candidate& candidate, const ClaimRow& row) {
    std::string fault = row.fault;
    for (size_t i = 0; fault.empty() && i < row.nodes.size(); ++i)
      fault = denial_of(candidate, row.nodes[i], row.nodes.size() == 1);
    if (fault.empty()) fault = slot_fault(row, graph_);
    if (fault.empty() && !contraction_.merge(row.nodes))
      fault = "with its nodes as one step the graph would have a cycle";
    if (fault.empty()) {
      add(candidate, row);
    } else if (row.divisible && row.fault.empty() && row.nodes.size() > 1) {
      split(candidate, row);
    } else {
      drop(candidate, row, fault);
    }
  }

  [[nodiscard]] bool is_sent_elsewhere(const Candidate& candidate, uint32_t node) const {
    return ruled_[node] && ruled_[node]->device != candidate.device;
  }

  // Why a node cannot go to a candidate; empty: it can. `is_alone`: the claim has no other node.
  std::string denial_of(const Candidate& candidate, uint32_t node, bool is_alone = false) const {
    if (result_->owner[node] != GraphPlacement::kNobody)
      return "another claim has one of its nodes already";
    if (is_sent_elsewhere(candidate, node)) {
      return "a placement rule sends " +
             (is_alone ? "this node" : graph_.nodes()[node]->label() + ", one of its nodes,") +
             " to " + ruled_[node]->device.to_string();
    }
    return {};
  }

  void drop(const Candidate& candidate, const ClaimRow& row, const std::string& fault) {
    for (const uint32_t node : row.nodes) {
      if (node < graph_.nodes().size() && result_->owner[node] == GraphPlacement::kNobody)
        note(node, candidate, "claim dropped: " + fault);
    }
  }

  // Grants the nodes that the candidate can have, in as few claims as the graph allows.
  void split(const Candidate& candidate, const ClaimRow& row) {
    ClaimRow rest = row;
    rest.inputs.clear();  // the ports describe the slots of the full set
    rest.outputs.clear();
    std::erase_if(rest.nodes, [&](uint32_t node) { return !denial_of(candidate, node).empty(); });
    for (std::vector<uint32_t>& part : convex_parts(rest.nodes)) {
      ClaimRow smaller = rest;
      smaller.nodes = std::move(part);
      if (contraction_.merge(smaller.nodes)) {
        add(candidate, smaller);
        continue;
      }
      for (const uint32_t node : smaller.nodes) {
        ClaimRow single = rest;
        single.nodes = {node};
        add(candidate, single);
      }
    }
  }

  // Splits the nodes into convex parts: no path leaves a part and returns to it. Nodes of a part
  // have equal counts of how often a path to them leaves the set and returns. The nodes of a
  // granted claim count as one, since it is one step.
  std::vector<std::vector<uint32_t>> convex_parts(const std::vector<uint32_t>& nodes) const {
    std::vector<bool> is_inside(graph_.nodes().size(), false);
    for (const uint32_t node : nodes) is_inside[node] = true;
    std::vector<uint32_t> returns(graph_.nodes().size(), 0);
    // Granted claims close no cycle, so the counts converge.
    while (count_returns(is_inside, returns)) {
    }
    std::vector<std::vector<uint32_t>> parts;
    for (const uint32_t node : nodes) {
      if (parts.size() <= returns[node]) parts.resize(returns[node] + 1);
      parts[returns[node]].push_back(node);
    }
    std::erase_if(parts, [](const auto& part) { return part.empty(); });
    return parts;
  }

  // One pass over the graph; true if it changed a count.
  bool count_returns(const std::vector<bool>& is_inside, std::vector<uint32_t>& returns) const {
    const std::vector<uint32_t> before = returns;
    for (const auto& node : graph_.nodes()) {
      const auto visit = [&](const GraphValue* value) {
        if (!value || !value->producer) return;
        const uint32_t from = value->producer->id;
        const bool leaves = !is_inside[node->id] && is_inside[from];
        returns[node->id] = std::max(returns[node->id], returns[from] + (leaves ? 1 : 0));
      };
      std::for_each(node->inputs.begin(), node->inputs.end(), visit);
      std::for_each(node->captures.begin(), node->captures.end(), visit);
    }
    for (const Claim& claim : result_->claims) {
      uint32_t most = 0;
      for (const Node* node : claim.nodes) most = std::max(most, returns[node->id]);
      for (const Node* node : claim.nodes) returns[node->id] = most;
    }
    return returns != before;
  }

  void add(const Candidate& candidate, const ClaimRow& row) {
    for (const uint32_t node : row.nodes)
      result_->owner[node] = static_cast<int>(result_->claims.size());
    result_->claims.push_back(to_claim(candidate, row, graph_));
  }

  const Graph& graph_;
  const std::vector<Candidate>& candidates_;
  const PlacementPolicy& policy_;
  std::vector<const NodeRule*> ruled_;
  Contraction contraction_;
  std::vector<const Candidate*> last_noted_;  // by node: whose reason was noted last
  std::unique_ptr<GraphPlacement> result_;
};

}  // namespace

std::unique_ptr<GraphPlacement> place(const Graph& graph, const std::vector<Candidate>& candidates,
                                      const PlacementPolicy& policy) {
  return Placer(graph, candidates, policy).run();
}

}  // namespace gantry
