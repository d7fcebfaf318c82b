// SPDX-License-Identifier: Apache-2.0
// Who reads a value of a graph, and which slots a set of nodes has by the rule of provider.h,
// section 3. Borrows the graph of the call that made it.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <vector>

namespace gantry::cuda {

class GraphIndex {
 public:
  GraphIndex(const gantry_host* host, const gantry_graph& graph);

  [[nodiscard]] sdk::NodeView node(uint32_t number) const {
    return {host_, &graph_, graph_.nodes[number]};
  }
  [[nodiscard]] const gantry_node& raw(uint32_t number) const { return *graph_.nodes[number]; }
  [[nodiscard]] sdk::ValueView value(uint32_t number) const {
    return {host_, number == GANTRY_NONE ? nullptr : graph_.values[number]};
  }
  [[nodiscard]] uint32_t producer(uint32_t value) const {
    return value == GANTRY_NONE ? GANTRY_NONE : graph_.values[value]->producer;
  }
  [[nodiscard]] bool is_output(uint32_t value) const {
    return graph_.values[value]->is_graph_output != 0;
  }
  /// Nodes that read a value, ascending; one that reads it twice is named twice.
  [[nodiscard]] const std::vector<uint32_t>& readers(uint32_t value) const {
    return readers_[value];
  }
  [[nodiscard]] uint32_t node_count() const { return graph_.node_count; }
  [[nodiscard]] const gantry_host* host() const { return host_; }

  /// Values of the input slots of nodes in ascending order, GANTRY_NONE for an absent input.
  /// Requires nodes without captures.
  [[nodiscard]] std::vector<uint32_t> input_slots(const std::vector<uint32_t>& nodes) const;

 private:
  const gantry_host* host_;
  const gantry_graph& graph_;
  std::vector<std::vector<uint32_t>> readers_;  // by value
};

}  // namespace gantry::cuda
