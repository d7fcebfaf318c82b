// SPDX-License-Identifier: Apache-2.0
// Chooses the nodes of a graph that OpenVINO runs, grouped into convex sets. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gantry_openvino {

/// By node: empty if it is taken, else why not. `narrow_int64`: 64-bit integers may be computed in
/// 32 bits; else they are taken only where they cannot be larger, as sizes and positions are.
std::vector<std::string> refusals(const gantry_host* host, const gantry_graph& graph,
                                  bool narrow_int64);

/// The nodes without a refusal in as few sets as possible that no path leaves and comes back to.
std::vector<std::vector<uint32_t>> convex_sets(const gantry_graph& graph,
                                               const std::vector<std::string>& refusals);

/// The wishes of a set's input slots: constants are needed while it is compiled, and no later.
std::vector<gantry_port> input_ports(const gantry_graph& graph, const std::vector<uint32_t>& nodes);

}  // namespace gantry_openvino
