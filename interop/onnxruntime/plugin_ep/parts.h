// SPDX-License-Identifier: Apache-2.0
// Divides the nodes that one side of a graph takes into parts that can each become a single node.
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugin_ep/node_values.h"

namespace gantry::ort {

/// The part of each node, from 0; nothing: it is not taken. `nodes` are in topological order;
/// `is_taken`: what may be in a part. Values of `kept` do not leave the part where they are made:
/// where one would, its maker and its readers are not taken. No path leaves a part and comes back.
std::vector<std::optional<size_t>> divide(const std::vector<NodeValues>& nodes,
                                          std::vector<bool> is_taken,
                                          const std::set<std::string>& kept,
                                          const std::set<std::string>& graph_outputs);

}  // namespace gantry::ort
