// SPDX-License-Identifier: Apache-2.0
// What of a graph the provider takes, as the application hears it: its kernels are gathered into as
// few sets as the graph allows, so that a message carries the run of many nodes. Any thread.
#pragma once

#include <functional>
#include <memory>

#include "graph/graph.h"
#include "placement/placement.h"
#include "plugin/isolation/worker_messages.h"

namespace gantry {

/// Another copy of the graph that is asked about, with the same ids.
using CopyGraph = std::function<std::unique_ptr<Graph>()>;

/// Control flow counts as taken if all of its bodies are. A node that is taken only beside others,
/// which its set does not have, is refused. Pure.
WorkerClaims answer_claims(const CopyGraph& copy, const Candidate& candidate);

}  // namespace gantry
