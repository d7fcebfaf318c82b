// SPDX-License-Identifier: Apache-2.0
#include "graph_index.h"

#include <algorithm>

namespace gantry::cuda {

GraphIndex::GraphIndex(const gantry_host* host, const gantry_graph& graph)
    : host_(host), graph_(graph), readers_(graph.value_count) {
  for (uint32_t number = 0; number < graph.node_count; ++number) {
    const gantry_node& reader = raw(number);
    const auto read = [&](uint32_t value) {
      if (value != GANTRY_NONE) readers_[value].push_back(number);
    };
    std::for_each(reader.inputs, reader.inputs + reader.input_count, read);
    std::for_each(reader.captures, reader.captures + reader.capture_count, read);
  }
}

std::vector<uint32_t> GraphIndex::input_slots(const std::vector<uint32_t>& nodes) const {
  std::vector<uint32_t> slots;
  for (const uint32_t number : nodes) {
    for (uint32_t i = 0; i < raw(number).input_count; ++i) {
      const uint32_t value = raw(number).inputs[i];
      const uint32_t maker = producer(value);
      if (maker == GANTRY_NONE || !std::binary_search(nodes.begin(), nodes.end(), maker))
        slots.push_back(value);
    }
  }
  return slots;
}

}  // namespace gantry::cuda
