// SPDX-License-Identifier: Apache-2.0
// The claims of a worker: merges the claims of its provider into as few sets of nodes as the graph
// allows, so that one message runs many nodes. Any thread.
#pragma once

#include <functional>
#include <memory>

#include "graph/graph.h"
#include "placement/placement.h"
#include "plugin/isolation/worker_messages.h"

namespace gantry {

/// Returns a copy of the graph of the claim request, with the same ids.
using CopyGraph = std::function<std::unique_ptr<Graph>()>;

/// A control-flow node counts as claimed if the provider claims all nodes of its bodies. A node
/// that the provider claims only together with nodes outside its set is refused. Pure.
WorkerClaims answer_claims(const CopyGraph& copy, const Candidate& candidate);

}  // namespace gantry
