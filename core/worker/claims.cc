// SPDX-License-Identifier: Apache-2.0
#include "worker/claims.h"

#include <algorithm>
#include <map>
#include <vector>

namespace gantry {
namespace {

class Answer {
 public:
  Answer(const Graph& graph, const Candidate& candidate)
      : graph_(graph), candidates_{candidate}, placement_(place(graph, candidates_, {})) {
    find_singles(candidate);
    note_signatures();
  }

  WorkerClaims run() {
    std::vector<uint32_t> singles;
    WorkerClaims answer;
    for (const auto& node : graph_.nodes()) {
      const int owner = placement_->owner[node->id];
      if (!is_taken(*node, owner)) {
        answer.refusals.push_back({node->id, reason_of(*node)});
      } else if (owner == GraphPlacement::kCore || is_single_[node->id]) {
        singles.push_back(node->id);
      }
    }
    // First as much as can be together, fused nodes included; if others have a part of it, what can
    // be parted at will, and then each fusion.
    for (const std::vector<uint32_t>& nodes : stretches())
      answer.sets.push_back(set_of(nodes, false));
    if (!singles.empty()) answer.sets.push_back(set_of(singles, true));
    for (const Claim& claim : placement_->claims) {
      std::vector<uint32_t> nodes;
      for (const Node* node : claim.nodes) nodes.push_back(node->id);
      if (nodes.size() > 1) answer.sets.push_back(set_of(nodes, false));
    }
    return answer;
  }

 private:
  // Nodes that the provider takes alone: of a set of these any part can be compiled.
  void find_singles(const Candidate& candidate) {
    is_single_.assign(graph_.nodes().size(), false);
    for (const ClaimRow& row : ask_claims(candidate, *placement_->view).rows) {
      if (!row.fault.empty() || (row.nodes.size() > 1 && !row.divisible)) continue;
      for (const uint32_t node : row.nodes) is_single_[node] = true;
    }
  }

  void note_signatures() {
    for (const Claim& claim : placement_->claims) {
      const ClaimSlots slots = slots_of(claim.nodes);
      for (size_t i = 0; i < slots.inputs.size(); ++i) {
        if (claim.inputs[i].flags & GANTRY_PORT_SIGNATURE) has_signature_[slots.inputs[i]] = true;
      }
    }
  }

  [[nodiscard]] bool is_taken(const Node& node, int owner) const {
    if (owner != GraphPlacement::kCore) return owner != GraphPlacement::kNobody;
    const std::vector<Graph*> bodies = node.bodies();
    return std::all_of(bodies.begin(), bodies.end(),
                       [&](const Graph* body) { return placement_->bodies.at(body)->complete(); });
  }

  // The nodes that are taken, parted where a way leads out to one that is not and back: between
  // nodes of one part there is none. Nodes of one claim stay together.
  [[nodiscard]] std::vector<std::vector<uint32_t>> stretches() const {
    const size_t count = graph_.nodes().size();
    std::vector<bool> taken(count);
    for (const auto& node : graph_.nodes())
      taken[node->id] = is_taken(*node, placement_->owner[node->id]);
    std::vector<uint32_t> level(count, 0);
    const auto pass = [&] {
      const std::vector<uint32_t> before = level;
      for (const auto& node : graph_.nodes()) {
        const auto visit = [&](const GraphValue* value) {
          if (!value || !value->producer) return;
          const uint32_t from = value->producer->id;
          const bool leaves = taken[from] && !taken[node->id];
          level[node->id] = std::max(level[node->id], level[from] + (leaves ? 1 : 0));
        };
        std::for_each(node->inputs.begin(), node->inputs.end(), visit);
        std::for_each(node->captures.begin(), node->captures.end(), visit);
      }
      for (const Claim& claim : placement_->claims) {
        uint32_t highest = 0;
        for (const Node* node : claim.nodes) highest = std::max(highest, level[node->id]);
        for (const Node* node : claim.nodes) level[node->id] = highest;
      }
      return level != before;
    };
    // Claims close no cycle, so levels come to rest; without that each of them stays by itself.
    size_t passes = 0;
    while (pass()) {
      if (++passes > count) return {};
    }
    std::map<uint32_t, std::vector<uint32_t>> parts;
    for (uint32_t node = 0; node < count; ++node) {
      if (taken[node]) parts[level[node]].push_back(node);
    }
    std::vector<std::vector<uint32_t>> result;
    result.reserve(parts.size());
    for (auto& [at, nodes] : parts) result.push_back(std::move(nodes));
    return result;
  }

  [[nodiscard]] std::string reason_of(const Node& node) const {
    if (placement_->owner[node.id] == GraphPlacement::kCore)
      return "a node of its body is not taken";
    // The application puts the provider's name in front again.
    const std::string& reason = placement_->reasons[node.id];
    const Candidate& candidate = candidates_.front();
    const std::string name =
        candidate.provider->name() + " on " + candidate.device.to_string() + ": ";
    return reason.starts_with(name) ? reason.substr(name.size()) : reason;
  }

  [[nodiscard]] WorkerClaims::Set set_of(const std::vector<uint32_t>& ids,
                                         bool is_divisible) const {
    WorkerClaims::Set set;
    set.nodes = ids;
    set.is_divisible = is_divisible ? 1 : 0;
    std::vector<Node*> nodes;
    nodes.reserve(ids.size());
    for (const uint32_t id : ids) nodes.push_back(graph_.nodes()[id].get());
    const ClaimSlots slots = slots_of(nodes);
    for (const GraphValue* value : slots.inputs) set.input_flags.push_back(flags_of(value));
    set.output_count = static_cast<uint32_t>(slots.outputs.size());
    describe(ids, set);
    return set;
  }

  [[nodiscard]] uint32_t flags_of(const GraphValue* value) const {
    // Constants are with the worker once the set is compiled.
    if (value && value->constant) return GANTRY_PORT_COMPILE_ONLY | GANTRY_PORT_UNALIGNED;
    return has_signature_.contains(value) ? GANTRY_PORT_SIGNATURE : 0;
  }

  void describe(const std::vector<uint32_t>& ids, WorkerClaims::Set& set) const {
    std::vector<bool> is_counted(placement_->claims.size(), false);
    set.time_ns = 0;
    size_t kernels = 0;
    for (const uint32_t id : ids) {
      const int owner = placement_->owner[id];
      if (owner < 0) set.time_ns = -1;
      if (owner < 0 || is_counted[static_cast<size_t>(owner)]) continue;
      is_counted[static_cast<size_t>(owner)] = true;
      const Claim& claim = placement_->claims[static_cast<size_t>(owner)];
      ++kernels;
      set.kernel = claim.kernel;
      set.workspace_bytes = std::max(set.workspace_bytes, claim.workspace_bytes);
      set.time_ns = set.time_ns < 0 || claim.time_ns < 0 ? -1 : set.time_ns + claim.time_ns;
    }
    if (kernels != 1 || ids.size() > 1)
      set.kernel = std::to_string(ids.size()) + " nodes in a process of their own";
  }

  const Graph& graph_;
  const std::vector<Candidate> candidates_;  // the placement points to it
  std::unique_ptr<GraphPlacement> placement_;
  std::vector<bool> is_single_;
  std::map<const GraphValue*, bool> has_signature_;
};

}  // namespace

WorkerClaims answer_claims(const Graph& graph, const Candidate& candidate) {
  return Answer(graph, candidate).run();
}

}  // namespace gantry
