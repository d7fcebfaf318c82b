// SPDX-License-Identifier: Apache-2.0
// An index of a graph: which nodes read a value, and which slots a set of nodes has by the rule of
// provider.h, section 3. For claims of several nodes.
#pragma once

#include <gantry/sdk/graph.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace gantry::sdk {

/// An input slot of a set of nodes.
struct InputSlot {
  uint32_t node = 0;             ///< the node that reads the value
  uint32_t position = 0;         ///< index into the node's inputs followed by its captures
  uint32_t value = GANTRY_NONE;  ///< GANTRY_NONE: the input is absent
};

/// True if `holds(slot)` for every slot that reads the value. One set may read a constant through
/// several slots, as the bound of a Clip and as an operand of an Add. A kernel that finds its
/// operands by value may set a port flag such as GANTRY_PORT_COMPILE_ONLY only if the flag is right
/// for all of them.
template <class Holds>
bool all_slots_of(const std::vector<InputSlot>& slots, uint32_t value, Holds&& holds) {
  return std::all_of(slots.begin(), slots.end(),
                     [&](const InputSlot& slot) { return slot.value != value || holds(slot); });
}

/// Borrows the graph, and so must not outlive the claim or compile call that received it.
/// Construction takes O(n log n) time in the number of inputs of the nodes indexed.
class GraphIndex {
 public:
  /// Indexes all nodes.
  GraphIndex(const gantry_host* host, const gantry_graph& graph) : host_(host), graph_(graph) {
    for (uint32_t node = 0; node < graph.node_count; ++node) add(node);
    std::sort(reads_.begin(), reads_.end());
  }
  /// Indexes some nodes; only these count as readers.
  GraphIndex(const gantry_host* host, const gantry_graph& graph, const std::vector<uint32_t>& nodes)
      : host_(host), graph_(graph) {
    for (const uint32_t node : nodes) add(node);
    std::sort(reads_.begin(), reads_.end());
  }

  [[nodiscard]] const gantry_graph& graph() const { return graph_; }
  [[nodiscard]] const gantry_node& raw(uint32_t node) const { return *graph_.nodes[node]; }
  [[nodiscard]] NodeView node(uint32_t node) const { return {host_, &graph_, graph_.nodes[node]}; }
  [[nodiscard]] ValueView value(uint32_t value) const {
    return {host_, value == GANTRY_NONE ? nullptr : graph_.values[value]};
  }
  [[nodiscard]] const gantry_host* host() const { return host_; }

  /// The node that makes a value; GANTRY_NONE: no node does, or `value` is GANTRY_NONE.
  [[nodiscard]] uint32_t producer(uint32_t value) const {
    return value == GANTRY_NONE ? GANTRY_NONE : graph_.values[value]->producer;
  }
  [[nodiscard]] bool is_output(uint32_t value) const {
    return graph_.values[value]->is_graph_output != 0;
  }
  /// The nodes that read a value, themselves or in their bodies, ascending. A node that reads it
  /// twice is listed twice.
  [[nodiscard]] std::vector<uint32_t> readers(uint32_t value) const {
    std::vector<uint32_t> nodes;
    for (auto read = first_read(value); reads(read, value); ++read) nodes.push_back(read->second);
    return nodes;
  }
  /// The only reader of a value. GANTRY_NONE: the value has no read or several, is a graph output,
  /// or its reader is not in the index.
  [[nodiscard]] uint32_t only_reader(uint32_t value) const {
    if (value == GANTRY_NONE || is_output(value) || graph_.values[value]->read_count != 1)
      return GANTRY_NONE;
    const auto read = first_read(value);
    return reads(read, value) ? read->second : GANTRY_NONE;
  }

  /// The input slots of a set of nodes. Requires `nodes` in ascending order.
  [[nodiscard]] std::vector<InputSlot> input_slots(const std::vector<uint32_t>& nodes) const {
    std::vector<InputSlot> slots;
    for (const uint32_t node : nodes) {
      const gantry_node& reader = raw(node);
      for (uint32_t i = 0; i < reader.input_count + reader.capture_count; ++i) {
        const uint32_t value =
            i < reader.input_count ? reader.inputs[i] : reader.captures[i - reader.input_count];
        const uint32_t maker = producer(value);
        if (maker == GANTRY_NONE || !std::binary_search(nodes.begin(), nodes.end(), maker))
          slots.push_back({node, i, value});
      }
    }
    return slots;
  }
  /// Values of the output slots of a set of nodes: those that other nodes read, graph outputs, and
  /// those that nobody reads. GANTRY_NONE for an absent output. Requires `nodes` in ascending
  /// order, all of them in the index.
  [[nodiscard]] std::vector<uint32_t> output_slots(const std::vector<uint32_t>& nodes) const {
    std::vector<uint32_t> slots;
    for (const uint32_t node : nodes) {
      for (uint32_t i = 0; i < raw(node).output_count; ++i) {
        const uint32_t value = raw(node).outputs[i];
        if (value == GANTRY_NONE || is_output(value) || !is_inner(value, nodes))
          slots.push_back(value);
      }
    }
    return slots;
  }

 private:
  void add(uint32_t node) {
    const auto read = [&](uint32_t value) {
      if (value != GANTRY_NONE) reads_.emplace_back(value, node);
    };
    const gantry_node& reader = raw(node);
    std::for_each(reader.inputs, reader.inputs + reader.input_count, read);
    std::for_each(reader.captures, reader.captures + reader.capture_count, read);
  }

  using Reads = std::vector<std::pair<uint32_t, uint32_t>>;

  [[nodiscard]] Reads::const_iterator first_read(uint32_t value) const {
    return std::lower_bound(reads_.begin(), reads_.end(), std::pair(value, uint32_t{0}));
  }
  [[nodiscard]] bool reads(Reads::const_iterator read, uint32_t value) const {
    return read != reads_.end() && read->first == value;
  }

  // Makes no list of the readers: a value may have as many as the graph has nodes.
  [[nodiscard]] bool is_inner(uint32_t value, const std::vector<uint32_t>& nodes) const {
    const uint32_t read_count = graph_.values[value]->read_count;
    uint32_t found = 0;
    for (auto read = first_read(value); reads(read, value); ++read) {
      if (!std::binary_search(nodes.begin(), nodes.end(), read->second)) return false;
      ++found;
    }
    return found > 0 && found == read_count;
  }

  const gantry_host* host_;
  const gantry_graph& graph_;
  Reads reads_;  // (value, node that reads it), sorted
};

}  // namespace gantry::sdk
