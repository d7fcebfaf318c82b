// SPDX-License-Identifier: Apache-2.0
// Element-wise nodes that run as one kernel: all that only one of them reads. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <vector>

namespace gantry::cuda {

/// Most different tensors that such a kernel reads.
constexpr size_t kMostOperands = 12;

/// Sets of nodes that are element-wise here (`is_elementwise`, by node), each with one output that
/// is read outside of it, that of its last node; each such node is in one set. Ascending, and the
/// sets by their last nodes.
std::vector<std::vector<uint32_t>> elementwise_sets(const sdk::GraphIndex& index,
                                                    const std::vector<bool>& is_elementwise);

/// Which of the sets stand between nodes that work channels-last (`works_last`, by node), directly
/// or with sets between: those may take that order for their tensors of four axes.
std::vector<bool> sets_channels_last(const sdk::GraphIndex& index,
                                     const std::vector<std::vector<uint32_t>>& sets,
                                     const std::vector<bool>& works_last);

}  // namespace gantry::cuda
