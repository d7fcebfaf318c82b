// SPDX-License-Identifier: Apache-2.0
#include "elementwise_set.h"

#include <algorithm>
#include <functional>
#include <set>

namespace gantry::cuda {
namespace {

class Collector {
 public:
  Collector(const sdk::GraphIndex& index, const std::vector<bool>& is_elementwise)
      : index_(index), is_free_(is_elementwise) {}

  std::vector<std::vector<uint32_t>> run() {
    std::vector<std::vector<uint32_t>> sets;
    for (uint32_t node = index_.graph().node_count; node-- > 0;) {
      if (is_free_[node]) sets.push_back(set_behind(node));
    }
    std::reverse(sets.begin(), sets.end());
    return sets;
  }

 private:
  // `last` and what is read by the set alone, from the end of the graph on, so that all readers of
  // a node have been decided on when it is its turn.
  std::vector<uint32_t> set_behind(uint32_t last) {
    std::set<uint32_t> nodes = {last};
    is_free_[last] = false;
    std::set<uint32_t, std::greater<>> candidates = makers_of(last);
    while (!candidates.empty()) {
      const uint32_t node = *candidates.begin();
      candidates.erase(candidates.begin());
      if (!is_free_[node] || !is_read_only_by(node, nodes)) continue;
      nodes.insert(node);
      if (operand_count(nodes) > kMostOperands) {
        nodes.erase(node);
        continue;
      }
      is_free_[node] = false;
      candidates.merge(makers_of(node));
    }
    return {nodes.begin(), nodes.end()};
  }

  [[nodiscard]] std::set<uint32_t, std::greater<>> makers_of(uint32_t node) const {
    std::set<uint32_t, std::greater<>> makers;
    const gantry_node& raw = index_.raw(node);
    for (uint32_t i = 0; i < raw.input_count; ++i) {
      const uint32_t maker = index_.producer(raw.inputs[i]);
      if (maker != GANTRY_NONE) makers.insert(maker);
    }
    return makers;
  }

  [[nodiscard]] bool is_read_only_by(uint32_t node, const std::set<uint32_t>& nodes) const {
    const gantry_node& raw = index_.raw(node);
    for (uint32_t i = 0; i < raw.output_count; ++i) {
      const uint32_t value = raw.outputs[i];
      if (value == GANTRY_NONE) continue;
      if (i > 0 || index_.is_output(value)) return false;
      const std::vector<uint32_t> readers = index_.readers(value);
      if (readers.empty() || !std::all_of(readers.begin(), readers.end(),
                                          [&](uint32_t reader) { return nodes.count(reader) > 0; }))
        return false;
    }
    return true;
  }

  [[nodiscard]] size_t operand_count(const std::set<uint32_t>& nodes) const {
    std::set<uint32_t> values;
    for (const sdk::InputSlot& slot : index_.input_slots({nodes.begin(), nodes.end()}))
      values.insert(slot.value);
    return values.size();
  }

  const sdk::GraphIndex& index_;
  std::vector<bool> is_free_;
};

}  // namespace

std::vector<std::vector<uint32_t>> elementwise_sets(const sdk::GraphIndex& index,
                                                    const std::vector<bool>& is_elementwise) {
  return Collector(index, is_elementwise).run();
}

std::vector<bool> sets_channels_last(const sdk::GraphIndex& index,
                                     const std::vector<std::vector<uint32_t>>& sets,
                                     const std::vector<bool>& works_last) {
  // By node: what it makes comes from one that works so. Sets stand behind those that they read.
  std::vector<bool> is_behind = works_last;
  for (const std::vector<uint32_t>& nodes : sets) {
    if (index.node(nodes.back()).output(0).rank() != 4) continue;
    const std::vector<sdk::InputSlot> slots = index.input_slots(nodes);
    is_behind[nodes.back()] =
        std::any_of(slots.begin(), slots.end(), [&](const sdk::InputSlot& slot) {
          const uint32_t maker = index.producer(slot.value);
          return maker != GANTRY_NONE && is_behind[maker];
        });
  }
  // What reads it works so, or hands it on to one that does.
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
