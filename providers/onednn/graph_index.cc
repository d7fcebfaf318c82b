// SPDX-License-Identifier: Apache-2.0
#include "graph_index.h"

#include <algorithm>

namespace gantry::onednn {

GraphIndex::GraphIndex(const gantry_host* host, const gantry_graph& graph)
    : host_(host), graph_(graph) {
  for (uint32_t node = 0; node < graph.node_count; ++node) add(node);
  std::sort(reads_.begin(), reads_.end());
}

GraphIndex::GraphIndex(const gantry_host* host, const gantry_graph& graph,
                       const std::vector<uint32_t>& nodes)
    : host_(host), graph_(graph) {
  for (const uint32_t node : nodes) add(node);
  std::sort(reads_.begin(), reads_.end());
}

void GraphIndex::add(uint32_t node) {
  const auto read = [&](uint32_t value) {
    if (value != GANTRY_NONE) reads_.emplace_back(value, node);
  };
  const gantry_node& reader = raw(node);
  std::for_each(reader.inputs, reader.inputs + reader.input_count, read);
  std::for_each(reader.captures, reader.captures + reader.capture_count, read);
}

std::vector<uint32_t> GraphIndex::readers(uint32_t value) const {
  std::vector<uint32_t> nodes;
  auto read = std::lower_bound(reads_.begin(), reads_.end(), std::pair(value, 0U));
  for (; read != reads_.end() && read->first == value; ++read) nodes.push_back(read->second);
  return nodes;
}

uint32_t GraphIndex::only_reader(uint32_t value) const {
  if (value == GANTRY_NONE || is_output(value)) return GANTRY_NONE;
  const std::vector<uint32_t> all = readers(value);
  return all.size() == 1 ? all[0] : GANTRY_NONE;
}

std::vector<InputSlot> input_slots(const GraphIndex& index, const std::vector<uint32_t>& nodes) {
  const auto is_inside = [&](uint32_t value) {
    const uint32_t producer =
        value == GANTRY_NONE ? GANTRY_NONE : index.graph().values[value]->producer;
    return producer != GANTRY_NONE && std::binary_search(nodes.begin(), nodes.end(), producer);
  };
  std::vector<InputSlot> slots;
  for (const uint32_t node : nodes) {
    for (uint32_t i = 0; i < index.raw(node).input_count; ++i) {
      const uint32_t value = index.raw(node).inputs[i];
      if (!is_inside(value)) slots.push_back({node, i, value});
    }
  }
  return slots;
}

std::vector<uint32_t> output_slots(const GraphIndex& index, const std::vector<uint32_t>& nodes) {
  std::vector<uint32_t> slots;
  for (const uint32_t node : nodes) {
    for (uint32_t i = 0; i < index.raw(node).output_count; ++i) {
      const uint32_t value = index.raw(node).outputs[i];
      const std::vector<uint32_t> readers = value == GANTRY_NONE || index.is_output(value)
                                                ? std::vector<uint32_t>()
                                                : index.readers(value);
      const bool is_inner =
          !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](uint32_t reader) {
            return std::binary_search(nodes.begin(), nodes.end(), reader);
          });
      if (!is_inner) slots.push_back(value);
    }
  }
  return slots;
}

}  // namespace gantry::onednn
