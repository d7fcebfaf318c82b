// SPDX-License-Identifier: Apache-2.0
// A graph as bytes without addresses, for a worker process: what claim and compile see on one side
// becomes a Graph with the same ids on the other. Pure functions.
#pragma once

#include <memory>

#include "graph/graph.h"
#include "plugin/isolation/message.h"
#include "plugin/isolation/value_message.h"

namespace gantry {

/// `place` is asked where each constant goes, those of attributes too.
void write_graph(MessageWriter& to, const gantry_graph& graph,
                 const std::function<DataPlace(const gantry_value&)>& place);

/// INTERNAL: what was read is no graph.
std::unique_ptr<Graph> read_graph(MessageReader& from, const FindData& find);

}  // namespace gantry
