// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph of ONNX Runtime's run on gantry, and in which parts. One thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "plugin_ep/graph_model.h"
#include "plugin_ep/host_api.h"
#include "plugin_ep/options.h"

namespace gantry::ort {

/// A node that stays with ONNX Runtime.
struct Refusal {
  std::string node;
  std::string reason;
};

struct Capability {
  /// Each list is to become one fused node. No path leaves a list and comes back to it.
  std::vector<std::vector<const host::Node*>> parts;
  std::vector<Refusal> refusals;
  std::set<std::string> graph_inputs;  ///< names
};

/// Asks gantry where the nodes would run. None are taken of a graph that is a body: it goes with
/// the node that it is a body of. Errors: those of gantry's check(), as for a model that it cannot
/// read.
Capability capability_of(const HostApi& api, const host::Graph* graph, Runtime& runtime,
                         const EpOptions& options);

}  // namespace gantry::ort
