// SPDX-License-Identifier: Apache-2.0
// What is scheduled as one: the claims of a placed graph and the nodes of control flow, in the
// order in which they are issued. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/graph_placement.h"

namespace gantry {

/// Unit of scheduling: a claim, or a node that the core schedules.
struct Group {
  const Claim* claim = nullptr;
  Node* node = nullptr;  ///< of control flow
  uint32_t first = 0;    ///< id of its first node, which orders the groups that are ready
};

/// Groups in an order in which each stands after those it reads from; where there is a choice, in
/// graph order. INTERNAL: a cycle.
std::vector<Group> ordered_groups(const GraphPlacement& placement);

}  // namespace gantry
