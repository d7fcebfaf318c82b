// SPDX-License-Identifier: Apache-2.0
// Serializes a graph for a worker process: the gantry_graph of a claim or compile call becomes a
// Graph with the same ids there. Pure functions.
#pragma once

#include <memory>

#include "graph/graph.h"
#include "plugin/isolation/message.h"
#include "plugin/isolation/value_message.h"

namespace gantry {

/// `place`: returns the place of each constant, those of attributes included.
void write_graph(MessageWriter& to, const gantry_graph& graph,
                 const std::function<DataPlace(const gantry_value&)>& place);

/// Reads what write_graph wrote. INTERNAL: the bytes are no valid graph.
std::unique_ptr<Graph> read_graph(MessageReader& from, const FindData& find);

}  // namespace gantry
