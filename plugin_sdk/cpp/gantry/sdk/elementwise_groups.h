// SPDX-License-Identifier: Apache-2.0
// Partitions the element-wise nodes of a graph into fusion groups, each of which one kernel can
// compute in one pass over the elements. The provider says which nodes are element-wise and how
// many tensors a kernel may read and write. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace gantry::sdk {

/// What a provider's kernels for fusion groups can do.
struct ElementwiseRules {
  static constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

  /// Whether a node is element-wise and belongs to no other fusion.
  std::function<bool(uint32_t node)> may_fuse;
  /// Whether one kernel can compute a node and a reader of its result. Asked only for two nodes
  /// that may be fused. Empty: always.
  std::function<bool(uint32_t producer, uint32_t reader)> may_join;
  size_t max_nodes = kUnlimited;    ///< of a group
  size_t max_inputs = kUnlimited;   ///< distinct tensors that a kernel reads
  size_t max_outputs = kUnlimited;  ///< tensors that a kernel writes
};

/// Groups of ascending nodes, in ascending order of their last nodes.
using ElementwiseGroups = std::vector<std::vector<uint32_t>>;

/// Builds the groups from the last node to the first: each node starts a group, which is merged
/// with the groups of its readers as far as the rules allow.
class ElementwiseGrouper {
 public:
  /// `nodes`: ascending, all that may be fused. Borrows all three.
  ElementwiseGrouper(const GraphIndex& index, const ElementwiseRules& rules,
                     const std::vector<uint32_t>& nodes)
      : index_(index), rules_(rules), nodes_(nodes), group_of_(nodes.size()) {}

  /// Forbids groups that would close a cycle with nodes outside of them. Takes time linear in the
  /// graph. Not needed where the nodes are those of one granted claim, nor for groups of one
  /// output: these contain every path between two of their nodes.
  void forbid_cycles() {
    const gantry_graph& graph = index_.graph();
    stages_.assign(graph.node_count, 0);
    for (uint32_t node = 0; node < graph.node_count; ++node) {
      const gantry_node& raw = index_.raw(node);
      for (uint32_t i = 0; i < raw.input_count + raw.capture_count; ++i) {
        const uint32_t producer = index_.producer(
            i < raw.input_count ? raw.inputs[i] : raw.captures[i - raw.input_count]);
        if (producer == GANTRY_NONE) continue;
        const uint32_t step = is_joinable(producer, node) ? 0 : 1;
        stages_[node] = std::max(stages_[node], stages_[producer] + step);
      }
    }
  }

  ElementwiseGroups run() {
    groups_.resize(nodes_.size());
    for (size_t i = nodes_.size(); i-- > 0;) {
      group_of_[i] = i;
      groups_[i] = {nodes_[i]};
      const gantry_node& raw = index_.raw(nodes_[i]);
      for (uint32_t output = 0; output < raw.output_count; ++output) {
        if (raw.outputs[output] == GANTRY_NONE) continue;
        for (const uint32_t reader : index_.readers(raw.outputs[output])) {
          if (is_joinable(nodes_[i], reader) && has_equal_stage(nodes_[i], reader))
            merge(group_of_[i], group_of_[position(reader)]);
        }
      }
    }
    ElementwiseGroups found;
    for (std::vector<uint32_t>& group : groups_) {
      if (group.empty()) continue;
      std::sort(group.begin(), group.end());
      found.push_back(std::move(group));
    }
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.back() < b.back(); });
    return found;
  }

 private:
  [[nodiscard]] size_t position(uint32_t node) const {
    return static_cast<size_t>(std::lower_bound(nodes_.begin(), nodes_.end(), node) -
                               nodes_.begin());
  }
  [[nodiscard]] bool may_fuse(uint32_t node) const {
    return std::binary_search(nodes_.begin(), nodes_.end(), node);
  }
  [[nodiscard]] bool is_joinable(uint32_t producer, uint32_t reader) const {
    return may_fuse(producer) && may_fuse(reader) &&
           (!rules_.may_join || rules_.may_join(producer, reader));
  }
  // Every edge that cannot be joined leads to a later stage, so that no path leaves a group, whose
  // nodes have one stage, and returns to it.
  [[nodiscard]] bool has_equal_stage(uint32_t producer, uint32_t reader) const {
    return stages_.empty() || stages_[producer] == stages_[reader];
  }

  void merge(size_t a, size_t b) {
    if (a == b || !allows(groups_[a], groups_[b])) return;
    if (groups_[a].size() < groups_[b].size()) std::swap(a, b);
    for (const uint32_t node : groups_[b]) group_of_[position(node)] = a;
    groups_[a].insert(groups_[a].end(), groups_[b].begin(), groups_[b].end());
    groups_[b].clear();
  }

  [[nodiscard]] bool allows(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) const {
    constexpr size_t kUnlimited = ElementwiseRules::kUnlimited;
    if (a.size() + b.size() > rules_.max_nodes) return false;
    if (rules_.max_inputs == kUnlimited && rules_.max_outputs == kUnlimited) return true;
    std::vector<uint32_t> both = a;
    both.insert(both.end(), b.begin(), b.end());
    std::sort(both.begin(), both.end());
    std::vector<uint32_t> inputs;
    for (const InputSlot& slot : index_.input_slots(both)) inputs.push_back(slot.value);
    return count_distinct(index_.output_slots(both)) <= rules_.max_outputs &&
           count_distinct(std::move(inputs)) <= rules_.max_inputs;
  }
  // Without absent values.
  static size_t count_distinct(std::vector<uint32_t> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values.size() - (values.empty() || values.back() != GANTRY_NONE ? 0 : 1);
  }

  const GraphIndex& index_;
  const ElementwiseRules& rules_;
  const std::vector<uint32_t>& nodes_;
  std::vector<size_t> group_of_;  // by position in nodes_; indexes groups_
  ElementwiseGroups groups_;      // unsorted; empty: merged into another
  std::vector<uint32_t> stages_;  // by node of the graph; empty: cycles are not looked for
};

/// All groups of a graph, groups of one node included, for claims. A group never closes a cycle
/// with nodes outside of it.
inline ElementwiseGroups elementwise_groups(const GraphIndex& index,
                                            const ElementwiseRules& rules) {
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0; node < index.graph().node_count; ++node) {
    if (rules.may_fuse(node)) nodes.push_back(node);
  }
  ElementwiseGrouper grouper(index, rules, nodes);
  if (rules.max_outputs > 1) grouper.forbid_cycles();
  return grouper.run();
}

/// The group whose last node is `root`, found again when its claim is compiled; empty: there is
/// none. Requires that only nodes of that claim may be fused. Does not visit other nodes.
inline std::vector<uint32_t> elementwise_group_at(const GraphIndex& index,
                                                  const ElementwiseRules& rules, uint32_t root) {
  std::vector<uint32_t> nodes = {root};
  std::set<uint32_t> known = {root};
  const auto add = [&](uint32_t node) {
    if (node != GANTRY_NONE && rules.may_fuse(node) && known.insert(node).second)
      nodes.push_back(node);
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const gantry_node& raw = index.raw(nodes[i]);
    for (uint32_t k = 0; k < raw.input_count; ++k) add(index.producer(raw.inputs[k]));
    for (uint32_t k = 0; k < raw.output_count; ++k) {
      if (raw.outputs[k] == GANTRY_NONE) continue;
      for (const uint32_t reader : index.readers(raw.outputs[k])) add(reader);
    }
  }
  std::sort(nodes.begin(), nodes.end());
  for (std::vector<uint32_t>& group : ElementwiseGrouper(index, rules, nodes).run()) {
    if (group.back() == root) return std::move(group);
  }
  return {};
}

}  // namespace gantry::sdk
