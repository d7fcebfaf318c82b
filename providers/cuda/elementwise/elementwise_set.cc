// SPDX-License-Identifier: Apache-2.0
#include "elementwise/elementwise_set.h"

#include <gantry/sdk/elementwise_groups.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace gantry::cuda {
namespace {

sdk::ElementwiseRules rules_of(std::function<bool(uint32_t node)> may_fuse) {
  sdk::ElementwiseRules rules;
  rules.may_fuse = std::move(may_fuse);
  rules.max_inputs = kMostOperands;
  rules.max_outputs = 1;
  return rules;
}

}  // namespace

std::unique_ptr<sdk::FusionMatch> match_elementwise_set(const sdk::FusionScope& scope,
                                                        uint32_t root) {
  auto match = std::make_unique<sdk::FusionMatch>();
  match->nodes = sdk::elementwise_group_at(scope.index(), rules_of(scope.predicate()), root);
  return match;
}

std::vector<std::vector<uint32_t>> elementwise_sets(const sdk::GraphIndex& index,
                                                    const std::vector<bool>& is_elementwise) {
  return sdk::elementwise_groups(index,
                                 rules_of([&](uint32_t node) { return is_elementwise[node]; }));
}

std::vector<bool> sets_channels_last(const sdk::GraphIndex& index,
                                     const std::vector<std::vector<uint32_t>>& sets,
                                     const std::vector<bool>& works_last) {
  // By node: its result depends on a node that works channels-last. Sets follow those that they
  // read.
  std::vector<bool> is_behind = works_last;
  for (const std::vector<uint32_t>& nodes : sets) {
    if (index.node(nodes.back()).output(0).rank() != 4) continue;
    const std::vector<sdk::InputSlot> slots = index.input_slots(nodes);
    is_behind[nodes.back()] =
        std::any_of(slots.begin(), slots.end(), [&](const sdk::InputSlot& slot) {
          const uint32_t producer = index.producer(slot.value);
          return producer != GANTRY_NONE && is_behind[producer];
        });
  }
  // By node: it works channels-last, or a node that depends on it does.
  std::vector<bool> is_before = works_last;
  std::vector<bool> is_between(sets.size(), false);
  for (size_t i = sets.size(); i-- > 0;) {
    const uint32_t last = sets[i].back();
    const std::vector<uint32_t> readers = index.readers(index.raw(last).outputs[0]);
    is_between[i] = is_behind[last] && std::any_of(readers.begin(), readers.end(),
                                                   [&](uint32_t node) { return is_before[node]; });
    for (const uint32_t node : sets[i]) is_before[node] = is_between[i];
  }
  return is_between;
}

}  // namespace gantry::cuda
