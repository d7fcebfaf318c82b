// SPDX-License-Identifier: Apache-2.0
// Generates one kernel for a set of fused element-wise nodes from the expressions of the nodes.
#pragma once

#include <gantry/sdk/fusion.h>

#include <vector>

#include "plan/indexing.h"
#include "plan/operation.h"

namespace gantry::cuda {

/// How the kernel of a set uses its input slots.
struct ElementwisePorts {
  std::vector<bool> is_inlined;  ///< by slot: a scalar constant, written into the source
  std::vector<bool> is_read;     ///< by slot; false: only its type matters
  uint64_t overwrites = 0;       ///< bits of slots that the result may alias
};
ElementwisePorts elementwise_ports(const sdk::GraphIndex& index,
                                   const std::vector<uint32_t>& nodes);

/// The row of sets: match_elementwise_set, and a kernel for each set.
sdk::FusionRow elementwise_row();

}  // namespace gantry::cuda
