// SPDX-License-Identifier: Apache-2.0
#include "worker/claims.h"

#include <algorithm>
#include <map>
#include <vector>

#include "worker/cut.h"

namespace gantry {
namespace {

class Answer {
 public:
  Answer(const CopyGraph& copy, const Candidate& candidate)
      : copy_(copy),
        own_(copy()),
        graph_(*own_),
        candidates_{candidate},
        placement_(place(graph_, candidates_, {})),
        refusals_(graph_.nodes().size()) {
    find_singles(candidate);
    note_signatures();
    for (const auto& node : graph_.nodes()) {
      is_taken_.push_back(is_placed(*node, placement_->owner[node->id]));
      if (!is_taken_.back()) refusals_[node->id] = reason_of(*node);
    }
  }

  WorkerClaims run() {
    WorkerClaims answer;
    // First the largest sets, fused nodes included. If other claims have a part of these, the host
    // can use the following divisible sets, and then the single fusions.
    for (const std::vector<uint32_t>& nodes : segments_that_stand_alone())
      answer.sets.push_back(set_of(nodes, false));
    std::vector<uint32_t> singles;
    for (const auto& node : graph_.nodes()) {
      const bool is_core = placement_->owner[node->id] == GraphPlacement::kCore;
      if (!is_taken_[node->id]) {
        answer.refusals.push_back({node->id, refusals_[node->id]});
      } else if (is_core || is_single_[node->id]) {
        singles.push_back(node->id);
      }
    }
    if (!singles.empty()) answer.sets.push_back(set_of(singles, true));
    for (const Claim& claim : placement_->claims) {
      std::vector<uint32_t> nodes;
      for (const Node* node : claim.nodes) {
        if (is_taken_[node->id]) nodes.push_back(node->id);
      }
      if (nodes.size() > 1 && nodes.size() == claim.nodes.size())
        answer.sets.push_back(set_of(nodes, false));
    }
    return answer;
  }

 private:
  // Finds the nodes that the provider claims alone: any subset of these can be compiled.
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

  [[nodiscard]] bool is_placed(const Node& node, int owner) const {
    if (owner != GraphPlacement::kCore) return owner != GraphPlacement::kNobody;
    const std::vector<Graph*> bodies = node.bodies();
    return std::all_of(bodies.begin(), bodies.end(),
                       [&](const Graph* body) { return placement_->bodies.at(body)->complete(); });
  }

  // The provider may refuse in a set a node that it claims in the whole graph, because the node's
  // producers are outside the set. So each set is claimed again by itself.
  std::vector<std::vector<uint32_t>> segments_that_stand_alone() {
    constexpr int kMostRounds = 16;
    std::vector<std::vector<uint32_t>> parts;
    for (int round = 0; round < kMostRounds; ++round) {
      parts = segments();
      bool is_good = true;
      for (const std::vector<uint32_t>& part : parts) is_good = stands_alone(part) && is_good;
      if (is_good) return parts;
    }
    return {};
  }

  // Claims the set by itself; a node refused there is not claimed any more.
  bool stands_alone(const std::vector<uint32_t>& part) {
    const std::unique_ptr<Graph> graph = copy_();
    std::vector<Node*> nodes;
    nodes.reserve(part.size());
    for (const uint32_t id : part) nodes.push_back(graph->nodes()[id].get());
    const ClaimSlots slots = slots_of(nodes);
    const auto ids = [](const std::vector<GraphValue*>& values) {
      std::vector<uint32_t> result;
      result.reserve(values.size());
      for (const GraphValue* value : values) result.push_back(value ? value->id : GANTRY_NONE);
      return result;
    };
    cut_to(*graph, part, ids(slots.inputs), ids(slots.outputs));
    const std::unique_ptr<GraphPlacement> alone = place(*graph, candidates_, {});
    // Nodes of the cut graph are in the order of the set.
    for (size_t i = 0; i < part.size(); ++i) {
      const Node& node = *graph->nodes()[i];
      const int owner = alone->owner[node.id];
      const bool is_core = owner == GraphPlacement::kCore;
      const std::vector<Graph*> bodies = node.bodies();
      const bool is_whole = std::all_of(bodies.begin(), bodies.end(), [&](const Graph* body) {
        return !is_core || alone->bodies.at(body)->complete();
      });
      if (owner != GraphPlacement::kNobody && is_whole) continue;
      is_taken_[part[i]] = false;
      refusals_[part[i]] =
          is_core ? "a node of its body is not taken" : without_name(alone->reasons[node.id]);
    }
    return std::all_of(part.begin(), part.end(), [&](uint32_t id) { return is_taken_[id]; });
  }

  // Splits the claimed nodes into convex parts: no path leaves a part and returns to it. Nodes of
  // one claim stay together.
  [[nodiscard]] std::vector<std::vector<uint32_t>> segments() const {
    const size_t count = graph_.nodes().size();
    const std::vector<bool>& taken = is_taken_;
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
    // Valid claims close no cycle, so the levels converge; if they do not, each claim is a part.
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
    return without_name(placement_->reasons[node.id]);
  }

  // Removes the provider's name, which the application adds again.
  [[nodiscard]] std::string without_name(const std::string& reason) const {
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
    // The worker has the constants once the set is compiled.
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

  const CopyGraph& copy_;
  const std::unique_ptr<Graph> own_;
  const Graph& graph_;
  const std::vector<Candidate> candidates_;  // the placement borrows them
  std::unique_ptr<GraphPlacement> placement_;
  std::vector<bool> is_single_;
  std::vector<bool> is_taken_;         // by node
  std::vector<std::string> refusals_;  // by node
  std::map<const GraphValue*, bool> has_signature_;
};

}  // namespace

WorkerClaims answer_claims(const CopyGraph& copy, const Candidate& candidate) {
  return Answer(copy, candidate).run();
}

}  // namespace gantry
