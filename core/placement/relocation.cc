// SPDX-License-Identifier: Apache-2.0
#include "placement/relocation.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "placement/transfers.h"

namespace gantry {
namespace {

constexpr uint64_t kMostShapeBytes = 1024;  // largest value that counts as shape arithmetic

// The rows of one candidate by their nodes.
class RowIndex {
 public:
  explicit RowIndex(const CandidateAnswers& answers)
      : answers_(&answers), by_first_(answers.answers.refusals.size()) {
    for (const ClaimRow& row : answers.answers.rows) {
      if (row.fault.empty()) by_first_[row.nodes.front()].push_back(&row);
    }
  }

  [[nodiscard]] const Candidate& candidate() const { return *answers_->candidate; }

  // The claims of this candidate that replace `claim`: one of the same nodes, else one for each
  // node; none if the candidate does not claim all nodes.
  [[nodiscard]] std::vector<Claim> instead_of(const Claim& claim, const Graph& graph) const {
    std::vector<uint32_t> ids;
    for (const Node* node : claim.nodes) ids.push_back(node->id);
    std::vector<Claim> claims;
    if (add(ids, graph, claims)) return claims;
    for (const uint32_t id : ids) {
      if (!add({id}, graph, claims)) return {};
    }
    return claims;
  }

 private:
  bool add(const std::vector<uint32_t>& ids, const Graph& graph, std::vector<Claim>& claims) const {
    const auto& rows = by_first_[ids.front()];
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const ClaimRow* row) { return row->nodes == ids; });
    if (found == rows.end() || !slot_fault(**found, graph).empty()) return false;
    claims.push_back(to_claim(candidate(), **found, graph));
    return true;
  }

  const CandidateAnswers* answers_;
  std::vector<std::vector<const ClaimRow*>> by_first_;  // by the first of their nodes
};

// Replaces the claim `index` by `claims`: the first has its index, the others are appended.
void replace(GraphPlacement& placement, size_t index, std::vector<Claim> claims,
             const std::string& reason) {
  const Candidate* const before = placement.claims[index].candidate;
  for (size_t i = 0; i < claims.size(); ++i) {
    const size_t target = i == 0 ? index : placement.claims.size();
    for (const Node* node : claims[i].nodes) {
      placement.owner[node->id] = static_cast<int>(target);
      add_reason(placement.reasons[node->id], reason);
      if (!placement.passed_over[node->id]) placement.passed_over[node->id] = before;
    }
    if (i == 0) {
      placement.claims[index] = std::move(claims[i]);
    } else {
      placement.claims.push_back(std::move(claims[i]));
    }
  }
}

bool is_pinned(const Claim& claim, const std::vector<uint8_t>& pinned) {
  return std::any_of(claim.nodes.begin(), claim.nodes.end(),
                     [&](const Node* node) { return pinned[node->id] != 0; });
}

bool is_small_integer(const GraphValue& value) {
  switch (value.type.dtype) {
    case DType::kInt64:
    case DType::kInt32:
    case DType::kBool:
      break;
    default:
      return false;
  }
  const bool is_known = std::all_of(value.type.shape.begin(), value.type.shape.end(),
                                    [](int64_t extent) { return extent >= 0; });
  return value.type.has_rank && (is_known || value.type.shape.size() == 1) &&
         estimated_bytes(value) <= kMostShapeBytes;
}

// Moves shape arithmetic, readers first, so that a producer can follow its reader.
class ShapeMover {
 public:
  ShapeMover(GraphPlacement& placement, const RowIndex& host) : placement_(placement), host_(host) {
    reads_on_device_.assign(placement.graph->values().size(), 0);
    for (const Claim& claim : placement.claims) count_reads(claim, 1);
  }

  void run(const std::vector<uint8_t>& pinned) {
    const auto& nodes = placement_.graph->nodes();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const int owner = placement_.owner[(*node)->id];
      if (owner < 0 || pinned[(*node)->id]) continue;
      const Claim& claim = placement_.claims[static_cast<size_t>(owner)];
      if (claim.candidate->has_host_memory() || claim.nodes.size() > 1 || !is_for_host(claim))
        continue;
      std::vector<Claim> moved = host_.instead_of(claim, *placement_.graph);
      if (moved.empty() || !reads_little(moved.front())) continue;
      const std::string reason = "moved from " + claim.candidate->device.to_string() + " to " +
                                 host_.candidate().device.to_string() +
                                 ": its results are a few integers that the host reads";
      count_reads(claim, -1);
      replace(placement_, static_cast<size_t>(owner), std::move(moved), reason);
    }
  }

 private:
  void count_reads(const Claim& claim, int sign) {
    if (claim.candidate->has_host_memory()) return;
    const ClaimSlots slots = slots_of(claim.nodes);
    for (size_t i = 0; i < slots.inputs.size(); ++i) {
      const bool elsewhere =
          is_host_port(claim.inputs[i]) || (claim.inputs[i].flags & GANTRY_PORT_SHAPE_ONLY);
      if (slots.inputs[i] && !elsewhere) reads_on_device_[slots.inputs[i]->id] += sign;
    }
  }

  [[nodiscard]] bool is_for_host(const Claim& claim) const {
    const std::vector<GraphValue*>& outputs = claim.nodes.front()->outputs;
    return std::all_of(outputs.begin(), outputs.end(), [&](const GraphValue* value) {
      return !value || (is_small_integer(*value) && reads_on_device_[value->id] == 0);
    });
  }

  static bool reads_little(const Claim& claim) {
    const ClaimSlots slots = slots_of(claim.nodes);
    for (size_t i = 0; i < slots.inputs.size(); ++i) {
      const GraphValue* value = slots.inputs[i];
      if (!value || value->constant || (claim.inputs[i].flags & GANTRY_PORT_SHAPE_ONLY)) continue;
      if (!is_small_integer(*value)) return false;
    }
    return true;
  }

  GraphPlacement& placement_;
  const RowIndex& host_;
  std::vector<int> reads_on_device_;  // by value
};

// Moves connected claims of a device where that costs less.
class CostMover {
 public:
  explicit CostMover(GraphPlacement& placement)
      : placement_(placement),
        producer_space_(placement.graph->values().size(), kHostSpace),
        reads_(placement.graph->values().size()),
        island_(placement.claims.size(), kNone) {
    for (size_t i = 0; i < placement.claims.size(); ++i) register_claim(i);
  }

  void run(const std::vector<RowIndex>& rows, const std::vector<uint8_t>& pinned) {
    const size_t count = placement_.claims.size();  // claims that moving adds belong to an island
    for (size_t first = 0; first < count; ++first) {
      if (island_[first] != kNone) continue;
      const std::vector<size_t> claims = collect(first);
      const bool stays = std::any_of(claims.begin(), claims.end(), [&](size_t i) {
        return is_pinned(placement_.claims[i], pinned) || placement_.claims[i].time_ns < 0;
      });
      if (!stays) consider(claims, rows);
    }
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  void register_claim(size_t index) {
    const Claim& claim = placement_.claims[index];
    const uint32_t space = spaces_.of(*claim.candidate);
    const ClaimSlots slots = slots_of(claim.nodes);
    for (size_t i = 0; i < slots.inputs.size(); ++i) {
      const GraphValue* value = slots.inputs[i];
      if (!value || value->constant || (claim.inputs[i].flags & GANTRY_PORT_SHAPE_ONLY)) continue;
      reads_[value->id].emplace_back(index, is_host_port(claim.inputs[i]) ? kHostSpace : space);
    }
    for (size_t i = 0; i < slots.outputs.size(); ++i) {
      if (slots.outputs[i])
        producer_space_[slots.outputs[i]->id] = is_host_port(claim.outputs[i]) ? kHostSpace : space;
    }
  }

  // The claims of one device that are connected with `first`; marks them as an island.
  std::vector<size_t> collect(size_t first) {
    const Device& device = placement_.claims[first].candidate->device;
    std::vector<size_t> claims{first};
    island_[first] = first;
    const auto reach = [&](const Node* node) {
      const int owner = node ? placement_.owner[node->id] : -1;
      if (owner < 0) return;
      const auto claim = static_cast<size_t>(owner);
      if (claim >= island_.size() || island_[claim] != kNone ||
          placement_.claims[claim].candidate->device != device)
        return;
      island_[claim] = first;
      claims.push_back(claim);
    };
    for (size_t i = 0; i < claims.size(); ++i) {
      for (const Node* node : placement_.claims[claims[i]].nodes) {
        for (const GraphValue* value : node->inputs) reach(value ? value->producer : nullptr);
        for (const GraphValue* value : node->outputs) {
          if (value) std::for_each(value->users.begin(), value->users.end(), reach);
        }
      }
    }
    return claims;
  }

  void consider(const std::vector<size_t>& claims, const std::vector<RowIndex>& rows) {
    std::vector<const Claim*> here;
    here.reserve(claims.size());
    for (const size_t claim : claims) here.push_back(&placement_.claims[claim]);
    const Candidate& current = *here.front()->candidate;
    double best_cost = cost_of(here, island_[claims.front()]);
    const double cost_here = best_cost;
    std::vector<std::vector<Claim>> best;
    for (const RowIndex& index : rows) {
      if (index.candidate().device == current.device) continue;
      std::vector<std::vector<Claim>> there = instead_of(here, index);
      if (there.empty()) continue;
      std::vector<const Claim*> flat;
      for (const auto& part : there) {
        for (const Claim& claim : part) flat.push_back(&claim);
      }
      const double cost = cost_of(flat, island_[claims.front()]);
      if (cost >= best_cost) continue;
      best_cost = cost;
      best = std::move(there);
    }
    if (best.empty()) return;
    const std::string reason =
        "moved from " + current.device.to_string() + " to " +
        best.front().front().candidate->device.to_string() + ": " + std::to_string(claims.size()) +
        (claims.size() == 1 ? " kernel costs" : " kernels cost") + " an estimated " +
        microseconds(best_cost) + " there with its copies, here " + microseconds(cost_here);
    for (size_t i = 0; i < claims.size(); ++i) move(claims[i], std::move(best[i]), reason);
  }

  // The claims that replace each of `here`; nothing if one is not claimed or of unknown time.
  std::vector<std::vector<Claim>> instead_of(const std::vector<const Claim*>& here,
                                             const RowIndex& index) const {
    std::vector<std::vector<Claim>> there;
    for (const Claim* claim : here) {
      there.push_back(index.instead_of(*claim, *placement_.graph));
      const auto& claims = there.back();
      if (claims.empty() ||
          std::any_of(claims.begin(), claims.end(), [](const Claim& c) { return c.time_ns < 0; }))
        return {};
    }
    return there;
  }

  // Time of the kernels and of the copies of every value that they read or make, if all other
  // claims stay.
  double cost_of(const std::vector<const Claim*>& claims, size_t island) {
    struct Use {
      bool is_made = false;
      uint32_t producer_space = kHostSpace;
      std::set<uint32_t> needs;
    };
    std::unordered_map<const GraphValue*, Use> uses;
    double cost = 0;
    for (const Claim* claim : claims) {
      const uint32_t space = spaces_.of(*claim->candidate);
      cost += claim->time_ns;
      const ClaimSlots slots = slots_of(claim->nodes);
      for (size_t i = 0; i < slots.inputs.size(); ++i) {
        const GraphValue* value = slots.inputs[i];
        if (!value || value->constant || (claim->inputs[i].flags & GANTRY_PORT_SHAPE_ONLY))
          continue;
        uses[value].needs.insert(is_host_port(claim->inputs[i]) ? kHostSpace : space);
      }
      for (size_t i = 0; i < slots.outputs.size(); ++i) {
        if (!slots.outputs[i]) continue;
        Use& use = uses[slots.outputs[i]];
        use.is_made = true;
        use.producer_space = is_host_port(claim->outputs[i]) ? kHostSpace : space;
      }
    }
    for (auto& [value, use] : uses) {
      if (!use.is_made) use.producer_space = producer_space_[value->id];
      for (const auto& [reader, space] : reads_[value->id]) {
        if (island_[reader] != island) use.needs.insert(space);
      }
      if (is_read_by_core(*value)) use.needs.insert(kHostSpace);
      cost += static_cast<double>(copies(use.producer_space, use.needs)) *
              transfer_ns(estimated_bytes(*value));
    }
    return cost;
  }

  [[nodiscard]] bool is_read_by_core(const GraphValue& value) const {
    return value.is_output() ||
           std::any_of(value.users.begin(), value.users.end(), [&](const Node* user) {
             return placement_.owner[user->id] == GraphPlacement::kCore;
           });
  }

  // Number of copies of a value made in `from` and needed in `needs`. In a body it may be one more,
  // as bodies have no peer copies.
  [[nodiscard]] size_t copies(uint32_t from, std::set<uint32_t> needs) const {
    const bool by_host =
        from != kHostSpace && std::any_of(needs.begin(), needs.end(), [&](uint32_t space) {
          return space != kHostSpace && space != from && !spaces_.can_copy_between(from, space);
        });
    if (by_host) needs.insert(kHostSpace);
    return needs.size() - needs.count(from);
  }

  void move(size_t index, std::vector<Claim> claims, const std::string& reason) {
    const size_t added = placement_.claims.size();
    for (const GraphValue* value : slots_of(placement_.claims[index].nodes).inputs) {
      if (value) std::erase_if(reads_[value->id], [&](const auto& r) { return r.first == index; });
    }
    replace(placement_, index, std::move(claims), reason);
    island_.resize(placement_.claims.size(), island_[index]);
    register_claim(index);
    for (size_t i = added; i < placement_.claims.size(); ++i) register_claim(i);
  }

  static std::string microseconds(double ns) {
    return std::to_string(std::llround(ns / 1000)) + " us";
  }

  GraphPlacement& placement_;
  SpaceNumbers spaces_;
  std::vector<uint32_t> producer_space_;                         // by value
  std::vector<std::vector<std::pair<size_t, uint32_t>>> reads_;  // by value: claim and space
  std::vector<size_t> island_;  // by claim: the first claim of its island
};

}  // namespace

void move_shape_arithmetic(GraphPlacement& placement, const std::vector<CandidateAnswers>& answers,
                           const std::vector<uint8_t>& is_pinned) {
  const auto host = std::find_if(answers.begin(), answers.end(), [](const auto& each) {
    return each.candidate->has_host_memory();
  });
  if (host == answers.end()) return;
  const RowIndex rows(*host);
  ShapeMover(placement, rows).run(is_pinned);
}

void move_to_lower_cost(GraphPlacement& placement, const std::vector<CandidateAnswers>& answers,
                        const std::vector<uint8_t>& is_pinned) {
  const std::vector<RowIndex> rows(answers.begin(), answers.end());
  CostMover(placement).run(rows, is_pinned);
}

}  // namespace gantry
