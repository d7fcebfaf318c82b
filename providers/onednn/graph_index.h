// SPDX-License-Identifier: Apache-2.0
// A graph with what its nodes do not tell by themselves: who reads a value, and which slots a set
// of nodes has. Borrows the graph of the call that made it.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace gantry::onednn {

class GraphIndex {
 public:
  /// Of all nodes.
  GraphIndex(const gantry_host* host, const gantry_graph& graph);
  /// Of some nodes, which alone count as readers.
  GraphIndex(const gantry_host* host, const gantry_graph& graph,
             const std::vector<uint32_t>& nodes);

  [[nodiscard]] const gantry_graph& graph() const { return graph_; }
  [[nodiscard]] const gantry_node& raw(uint32_t node) const { return *graph_.nodes[node]; }
  [[nodiscard]] sdk::NodeView node(uint32_t node) const {
    return {host_, &graph_, graph_.nodes[node]};
  }
  [[nodiscard]] sdk::ValueView value(uint32_t value) const {
    return {host_, value == GANTRY_NONE ? nullptr : graph_.values[value]};
  }
  [[nodiscard]] const gantry_host* host() const { return host_; }

  /// The nodes that read a value, ascending, one that reads it twice named twice.
  [[nodiscard]] std::vector<uint32_t> readers(uint32_t value) const;
  [[nodiscard]] bool is_output(uint32_t value) const {
    return graph_.values[value]->is_graph_output != 0;
  }
  /// The node that alone reads a value, once; GANTRY_NONE: there are none or several, or the value
  /// leaves the graph.
  [[nodiscard]] uint32_t only_reader(uint32_t value) const;

 private:
  void add(uint32_t node);

  const gantry_host* host_;
  const gantry_graph& graph_;
  std::vector<std::pair<uint32_t, uint32_t>> reads_;  // value and node that reads it, sorted
};

/// An input slot of a set of nodes, by the rule of provider.h, section 3.
struct InputSlot {
  uint32_t node = 0;      ///< that reads it
  uint32_t position = 0;  ///< among the node's inputs
  uint32_t value = GANTRY_NONE;
};
/// Requires `nodes` in ascending order, and nodes without captures.
std::vector<InputSlot> input_slots(const GraphIndex& index, const std::vector<uint32_t>& nodes);
/// Values of the output slots.
std::vector<uint32_t> output_slots(const GraphIndex& index, const std::vector<uint32_t>& nodes);

}  // namespace gantry::onednn
