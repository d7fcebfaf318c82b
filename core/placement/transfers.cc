// SPDX-License-Identifier: Apache-2.0
#include "placement/transfers.h"

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

// A value, and a space in which it must be readable. Sorted by value, then space.
using Need = std::pair<uint32_t, uint32_t>;

class Collector {
 public:
  Collector(const GraphPlacement& placement, bool is_body)
      : placement_(placement),
        is_body_(is_body),
        producer_space_(placement.graph->values().size(), kHostSpace) {}

  std::vector<Transfer> run() {
    for (const Claim& claim : placement_.claims) visit_claim(claim, spaces_.of(*claim.candidate));
    for (const auto& node : placement_.graph->nodes()) {
      if (placement_.owner[node->id] != GraphPlacement::kCore) continue;
      for (const GraphValue* value : node->inputs) need(value, kHostSpace);
      for (const GraphValue* value : node->captures) need(value, kHostSpace);
    }
    for (const GraphValue* value : placement_.graph->outputs()) need(value, kHostSpace);
    return copies();
  }

 private:
  void need(const GraphValue* value, uint32_t space) {
    if (value && !value->constant) needs_.emplace_back(value->id, space);
  }

  void visit_claim(const Claim& claim, uint32_t space) {
    const ClaimSlots slots = slots_of(claim.nodes);
    for (size_t i = 0; i < slots.inputs.size(); ++i) {
      if (claim.inputs[i].flags & GANTRY_PORT_SHAPE_ONLY) continue;
      need(slots.inputs[i], is_host_port(claim.inputs[i]) ? kHostSpace : space);
    }
    for (size_t i = 0; i < slots.outputs.size(); ++i) {
      if (slots.outputs[i] && !is_host_port(claim.outputs[i]))
        producer_space_[slots.outputs[i]->id] = space;
    }
  }

  std::vector<Transfer> copies() {
    add_copies_through_host();
    std::sort(needs_.begin(), needs_.end());
    needs_.erase(std::unique(needs_.begin(), needs_.end()), needs_.end());
    std::vector<Transfer> transfers;
    for (const auto& [value, space] : needs_) {
      if (space == producer_space_[value]) continue;
      const uint32_t from = space == kHostSpace || is_direct(producer_space_[value], space)
                                ? producer_space_[value]
                                : kHostSpace;
      transfers.push_back(
          {placement_.graph->values()[value].get(), spaces_.device(from), spaces_.device(space)});
    }
    return transfers;
  }

  void add_copies_through_host() {
    const size_t count = needs_.size();
    for (size_t i = 0; i < count; ++i) {
      const auto [value, space] = needs_[i];
      if (space != kHostSpace && producer_space_[value] != kHostSpace &&
          space != producer_space_[value] && !is_direct(producer_space_[value], space))
        needs_.emplace_back(value, kHostSpace);
    }
  }

  [[nodiscard]] bool is_direct(uint32_t from, uint32_t to) const {
    return !is_body_ && spaces_.can_copy_between(from, to);
  }

  const GraphPlacement& placement_;
  const bool is_body_;
  std::vector<uint32_t> producer_space_;  // by value
  SpaceNumbers spaces_;
  std::vector<Need> needs_;
};

}  // namespace

uint32_t SpaceNumbers::of(const Candidate& candidate) {
  if (candidate.has_host_memory()) return kHostSpace;
  const auto found = std::find(devices_.begin() + 1, devices_.end(), candidate.device);
  if (found != devices_.end()) return static_cast<uint32_t>(found - devices_.begin());
  devices_.push_back(candidate.device);
  providers_.push_back(candidate.provider.get());
  return static_cast<uint32_t>(devices_.size() - 1);
}

bool SpaceNumbers::can_copy_between(uint32_t from, uint32_t to) const {
  return from != kHostSpace && to != kHostSpace && from != to &&
         providers_[from] == providers_[to] && providers_[to]->peer_copies();
}

std::vector<Transfer> transfers_of(const GraphPlacement& placement, bool is_body) {
  return Collector(placement, is_body).run();
}

uint64_t estimated_bytes(const GraphValue& value) {
  if (value.type.kind != Kind::kTensor || value.type.dtype == DType::kString ||
      value.type.dtype == DType::kUndefined)
    return 0;
  uint64_t bits = bits_of(value.type.dtype);
  for (const int64_t extent : value.type.shape)
    bits *= static_cast<uint64_t>(std::max<int64_t>(extent, extent < 0 ? 1 : 0));
  return (bits + 7) / 8;
}

double transfer_ns(uint64_t bytes) {
  // A PCIe 4.0 x16 link moves about 24 GB/s, from memory that is not pinned about half of that;
  // launching a copy and waiting for it takes about 10 us.
  constexpr double kLaunchNs = 10'000;
  constexpr double kBytesPerNs = 12;
  return kLaunchNs + static_cast<double>(bytes) / kBytesPerNs;
}

}  // namespace gantry
