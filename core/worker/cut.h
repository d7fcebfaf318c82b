// SPDX-License-Identifier: Apache-2.0
// A graph without everything but a set of its nodes: what crosses the border of the set is the
// graph's inputs and outputs. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "plugin/isolation/worker_messages.h"

namespace gantry {

/// `inputs` and `outputs`: the value of each slot of the set, or GANTRY_NONE. The result says which
/// slots are the inputs and outputs of the graph now: constants, values that nobody reads and
/// repetitions are none. INTERNAL: an id is not in the graph.
WorkerKernel cut_to(Graph& graph, const std::vector<uint32_t>& nodes,
                    const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs);

}  // namespace gantry
