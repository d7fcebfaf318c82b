// SPDX-License-Identifier: Apache-2.0
// Orders the claims and the control-flow nodes of a placed graph topologically. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/graph_placement.h"

namespace gantry {

/// Unit of scheduling: a claim, or a control-flow node that the core runs.
struct Group {
  const Claim* claim = nullptr;
  Node* node = nullptr;  ///< of control flow
  uint32_t first = 0;    ///< id of the first node; of several ready groups the lowest comes first
};

/// The groups in topological order; where there is a choice, in graph order. INTERNAL: a cycle.
std::vector<Group> ordered_groups(const GraphPlacement& placement);

}  // namespace gantry
