// SPDX-License-Identifier: Apache-2.0
// Selects the nodes of a graph that OpenVINO runs, grouped into convex sets. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gantry_openvino {

/// For each node the reason why it is refused, empty if it is accepted. `narrow_int64`: int64 may
/// be computed in 32 bits. Otherwise int64 is accepted only if its values fit 32 bits, as extents
/// and indices do.
std::vector<std::string> refusals(const gantry_host* host, const gantry_graph& graph,
                                  bool narrow_int64);

/// Groups the nodes without a refusal into few convex sets: no path leaves a set and returns to it.
std::vector<std::vector<uint32_t>> convex_sets(const gantry_graph& graph,
                                               const std::vector<std::string>& refusals);

/// The input ports of a set: constants are needed during compilation only.
std::vector<gantry_port> input_ports(const gantry_graph& graph, const std::vector<uint32_t>& nodes);

}  // namespace gantry_openvino
