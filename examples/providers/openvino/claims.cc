// SPDX-License-Identifier: Apache-2.0
#include "claims.h"

#include <algorithm>

#include "operators.h"

namespace gantry_openvino {
namespace {

namespace sdk = gantry::sdk;

// The reason why OpenVINO cannot use a tensor of a node; empty if it can. A result may have unknown
// rank, which OpenVINO infers; an input may not.
std::string fault_of(const sdk::NodeView& node, const sdk::ValueView& value, bool needs_rank) {
  if (!value.present()) return {};
  const std::string name = std::string("\"").append(value.name()).append("\"");
  if (value.kind() != GANTRY_KIND_TENSOR) return "value " + name + " is no tensor";
  if (const std::string reason = type_refusal(node, value.dtype()); !reason.empty())
    return "value " + name + ": " + reason;
  if (needs_rank && value.rank() < 0) return "the rank of value " + name + " is not known";
  for (int axis = 0; axis < value.rank(); ++axis) {
    if (value.extent(axis) == 0 && !value.is_constant())
      return "value " + name + " has no elements";
  }
  return {};
}

class Judge {
 public:
  Judge(const gantry_host* host, const gantry_graph& graph, bool narrow_int64)
      : host_(host), graph_(graph), narrow_(narrow_int64), is_small_(graph.value_count, false) {}

  std::string refusal(uint32_t index) {
    const gantry_node& raw = *graph_.nodes[index];
    const sdk::NodeView node(host_, &graph_, &raw);
    const bool has_small_results = counts_extents(node) || reads_small(node, raw);
    for (uint32_t i = 0; i < raw.output_count; ++i) {
      if (raw.outputs[i] < graph_.value_count) is_small_[raw.outputs[i]] = has_small_results;
    }
    if (raw.capture_count > 0) return "nodes with bodies are the host's";
    std::string reason = refusal_of(node);
    for (int i = 0; reason.empty() && i < node.input_count(); ++i) {
      reason = fault_of(node, node.input(i), true);
      const bool is_wide = node.input(i).dtype() == GANTRY_INT64 && !is_position(node, i);
      if (reason.empty() && is_wide && !is_small(raw.inputs[i]) && !narrow_) {
        reason = "64-bit integers of \"" + std::string(node.input(i).name()) +
                 "\" would be computed in 32 bits; the option \"int64\" allows it";
      }
    }
    for (int i = 0; reason.empty() && i < node.output_count(); ++i)
      reason = fault_of(node, node.output(i), false);
    return reason;
  }

 private:
  // Constants are read; for other values the producing node decides.
  [[nodiscard]] bool is_small(uint32_t value) const {
    if (value >= graph_.value_count) return true;
    if (is_small_[value]) return true;
    const sdk::ValueView view(host_, graph_.values[value]);
    const gantry_tensor* tensor = view.constant();
    if (!tensor || tensor->dtype != GANTRY_INT64 || !tensor->data) return false;
    // Slice uses INT64_MAX for "to the end", which may be saturated.
    constexpr uint64_t kMostRead = 4096;
    return tensor->size_bytes <= kMostRead;
  }

  [[nodiscard]] bool reads_small(const sdk::NodeView& node, const gantry_node& raw) const {
    for (int i = 0; i < node.input_count(); ++i) {
      if (node.input(i).dtype() == GANTRY_INT64 && !is_small(raw.inputs[i]) &&
          !is_position(node, i))
        return false;
    }
    return true;
  }

  const gantry_host* host_;
  const gantry_graph& graph_;
  bool narrow_;
  std::vector<bool> is_small_;  // by value: its elements are known to fit 32 bits
};

}  // namespace

std::vector<std::string> refusals(const gantry_host* host, const gantry_graph& graph,
                                  bool narrow_int64) {
  Judge judge(host, graph, narrow_int64);
  std::vector<std::string> reasons;
  reasons.reserve(graph.node_count);
  for (uint32_t i = 0; i < graph.node_count; ++i) reasons.push_back(judge.refusal(i));
  return reasons;
}

std::vector<std::vector<uint32_t>> convex_sets(const gantry_graph& graph,
                                               const std::vector<std::string>& refusals) {
  // returns[i]: how often a path to node i leaves the accepted nodes, at most. Accepted nodes with
  // the same count form a convex set.
  std::vector<uint32_t> returns(graph.node_count, 0);
  std::vector<std::vector<uint32_t>> sets;
  for (uint32_t i = 0; i < graph.node_count; ++i) {
    const gantry_node& node = *graph.nodes[i];
    const bool is_taken = refusals[i].empty();
    const auto follow = [&](uint32_t value) {
      if (value >= graph.value_count) return;
      const uint32_t from = graph.values[value]->producer;
      if (from >= i) return;
      const bool leaves = !is_taken && refusals[from].empty();
      returns[i] = std::max(returns[i], returns[from] + (leaves ? 1 : 0));
    };
    std::for_each(node.inputs, node.inputs + node.input_count, follow);
    std::for_each(node.captures, node.captures + node.capture_count, follow);
    if (!is_taken) continue;
    if (sets.size() <= returns[i]) sets.resize(returns[i] + size_t{1});
    sets[returns[i]].push_back(i);
  }
  sets.erase(std::remove_if(sets.begin(), sets.end(), [](const auto& set) { return set.empty(); }),
             sets.end());
  return sets;
}

std::vector<gantry_port> input_ports(const gantry_graph& graph,
                                     const std::vector<uint32_t>& nodes) {
  std::vector<gantry_port> ports;
  for (const uint32_t index : nodes) {
    const gantry_node& node = *graph.nodes[index];
    for (uint32_t i = 0; i < node.input_count; ++i) {
      const gantry_value_info* value =
          node.inputs[i] < graph.value_count ? graph.values[node.inputs[i]] : nullptr;
      if (value && std::binary_search(nodes.begin(), nodes.end(), value->producer)) continue;
      gantry_port port = {};
      port.size = sizeof(port);
      port.repeats = GANTRY_NONE;
      if (value && value->constant) port.flags = GANTRY_PORT_COMPILE_ONLY | GANTRY_PORT_UNALIGNED;
      ports.push_back(port);
    }
  }
  return ports;
}

}  // namespace gantry_openvino
