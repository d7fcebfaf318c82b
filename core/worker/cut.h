// SPDX-License-Identifier: Apache-2.0
// Reduces a graph to a set of its nodes; the slots of the set become the graph's inputs and
// outputs. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "plugin/isolation/worker_messages.h"

namespace gantry {

/// `inputs` and `outputs`: the value of each slot of the set, or GANTRY_NONE. Returns the slots
/// that are inputs and outputs of the graph now: without constants, values that nobody reads, and
/// repeated values. INTERNAL: an id is not in the graph.
WorkerKernel cut_to(Graph& graph, const std::vector<uint32_t>& nodes,
                    const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs);

}  // namespace gantry
