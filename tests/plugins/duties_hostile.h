// SPDX-License-Identifier: Apache-2.0
// What makes each of the strange graphs strange that `gantry provider test` asks about: a provider
// that falls over one of them is to be found by the check of that one.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <string_view>

namespace duties {

/// True if a node of the graph is what the check "hostile." + `name` is about.
inline bool is_strange(std::string_view name, const gantry_graph& graph) {
  if (name == "strange-graphs") return graph.node_count > 10000;
  const auto any_input = [&](auto&& test) {
    for (uint32_t i = 0; i < graph.node_count; ++i) {
      const gantry_node& node = *graph.nodes[i];
      for (uint32_t k = 0; k < node.input_count; ++k) {
        if (node.inputs[k] != GANTRY_NONE && test(*graph.values[node.inputs[k]])) return true;
      }
    }
    return false;
  };
  const auto any_node = [&](auto&& test) {
    for (uint32_t i = 0; i < graph.node_count; ++i) {
      if (test(*graph.nodes[i])) return true;
    }
    return false;
  };
  const auto has_extent = [](const gantry_value_info& value, int64_t extent) {
    return value.rank > 0 && value.shape[0] == extent;
  };
  using Node = gantry_node;
  using Value = gantry_value_info;
  if (name == "without-inputs") return any_node([](const Node& n) { return n.input_count == 0; });
  if (name == "without-outputs") return any_node([](const Node& n) { return n.output_count == 0; });
  if (name == "many-slots") return any_node([](const Node& n) { return n.output_count > 64; });
  if (name == "other-versions") return any_node([](const Node& n) { return n.since_version < 0; });
  if (name == "wrong-attributes")
    return any_node([](const Node& n) { return n.attribute_count > 10; });
  if (name == "absent-inputs")
    return any_node([](const Node& n) { return n.input_count > 0 && n.inputs[0] == GANTRY_NONE; });
  if (name == "unknown-shapes") return any_input([](const Value& v) { return v.rank < 0; });
  if (name == "scalars") return any_input([](const Value& v) { return v.rank == 0; });
  if (name == "unknown-types") return any_input([](const Value& v) { return v.dtype > 1000; });
  if (name == "huge-extents")
    return any_input([&](const Value& v) { return has_extent(v, INT64_MAX); });
  if (name == "empty-extents") return any_input([&](const Value& v) { return has_extent(v, 0); });
  if (name == "wrong-constants") return any_input([](const Value& v) { return v.constant; });
  return false;
}

}  // namespace duties
