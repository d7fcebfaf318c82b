// SPDX-License-Identifier: Apache-2.0
// Claims of two nodes at once, and claims that offer an order of the dimensions, for a provider of
// Relu: what such kernels get wrong shows only where nodes stand together.
#pragma once

#include <gantry/provider.h>

#include <array>
#include <cstdint>
#include <vector>

#include "relu_claims.h"

namespace duties {

/// Channels last.
inline const gantry_format* channels_last() {
  static const gantry_format format = {sizeof(format), 4, {0, 2, 3, 1}, 0, 0, 0};
  return &format;
}

inline bool is_relu(const gantry_graph& graph, uint32_t node) {
  return node != GANTRY_NONE && fakes::is_relu(*graph.nodes[node]);
}

/// How many nodes, and outputs of the graph, read a value.
inline int readers_of(const gantry_graph& graph, uint32_t value) {
  int count = 0;
  for (uint32_t i = 0; i < graph.node_count; ++i) {
    for (uint32_t k = 0; k < graph.nodes[i]->input_count; ++k)
      count += graph.nodes[i]->inputs[k] == value ? 1 : 0;
  }
  for (uint32_t i = 0; i < graph.output_count; ++i) count += graph.outputs[i] == value ? 1 : 0;
  return count;
}

/// A Relu of what only it reads of another Relu, together with that one; then each by itself.
inline void claim_pairs(const gantry_claim_request& request) {
  const gantry_graph& graph = *request.graph;
  for (uint32_t node = 0; node < graph.node_count; ++node) {
    if (!is_relu(graph, node) || graph.nodes[node]->input_count != 1) continue;
    const uint32_t between = graph.nodes[node]->inputs[0];
    const uint32_t first = between == GANTRY_NONE ? between : graph.values[between]->producer;
    if (!is_relu(graph, first) || readers_of(graph, between) != 1) continue;
    const std::array<uint32_t, 2> nodes = {first, node};
    gantry_claim row = {};
    row.size = sizeof(row);
    row.nodes = nodes.data();
    row.node_count = 2;
    row.time_ns = -1;
    row.kernel = fakes::to_str("two relus");
    request.sink->claim(request.sink->self, &row);
  }
  fakes::claim_relus(request, "relu");
}

/// Offers and takes channels last.
inline void claim_in_order(const gantry_claim_request& request) {
  const gantry_format* const formats[] = {channels_last()};
  const gantry_port port = {sizeof(port), 0, 0, GANTRY_NONE, 1, formats};
  fakes::claim_relus(request, "relu", 0, &port);
}

/// Where the elements of a tensor of rank 4 stand, in dense order.
inline std::vector<int64_t> places_of(const gantry_tensor& tensor) {
  std::vector<int64_t> places;
  std::array<int64_t, 4> i = {};
  for (i[0] = 0; i[0] < tensor.shape[0]; ++i[0]) {
    for (i[1] = 0; i[1] < tensor.shape[1]; ++i[1]) {
      for (i[2] = 0; i[2] < tensor.shape[2]; ++i[2]) {
        for (i[3] = 0; i[3] < tensor.shape[3]; ++i[3]) {
          places.push_back(i[0] * tensor.strides[0] + i[1] * tensor.strides[1] +
                           i[2] * tensor.strides[2] + i[3] * tensor.strides[3]);
        }
      }
    }
  }
  return places;
}

}  // namespace duties
