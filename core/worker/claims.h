// SPDX-License-Identifier: Apache-2.0
// What of a graph the provider takes, as the application hears it: its kernels are gathered into as
// few sets as the graph allows, so that a message carries the run of many nodes. Any thread.
#pragma once

#include "graph/graph.h"
#include "plugin/worker_messages.h"
#include "schedule/placement.h"

namespace gantry {

/// Control flow counts as taken if all of its bodies are. Pure.
WorkerClaims answer_claims(const Graph& graph, const Candidate& candidate);

}  // namespace gantry
