// SPDX-License-Identifier: Apache-2.0
// Fuses element-wise nodes into sets that run as one kernel each. Pure functions.
#pragma once

#include <gantry/sdk/fusion.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace gantry::cuda {

/// Limit of distinct tensors that a kernel reads.
constexpr size_t kMostOperands = 12;

/// The set of a claim that is compiled, whose last node is `root`. Requires `root` and all nodes
/// that `scope` allows to be element-wise and of that claim. Never null.
std::unique_ptr<sdk::FusionMatch> match_elementwise_set(const sdk::FusionScope& scope,
                                                        uint32_t root);

/// Partitions the element-wise nodes (`is_elementwise`, by node) into sets. Only the result of the
/// last node of a set is read outside of the set. Nodes ascend within a set, and sets by their last
/// nodes.
std::vector<std::vector<uint32_t>> elementwise_sets(const sdk::GraphIndex& index,
                                                    const std::vector<bool>& is_elementwise);

/// Which sets lie between nodes that work channels-last (`works_last`, by node), directly or
/// through other sets. Such a set may use that layout for its 4-D tensors.
std::vector<bool> sets_channels_last(const sdk::GraphIndex& index,
                                     const std::vector<std::vector<uint32_t>>& sets,
                                     const std::vector<bool>& works_last);

}  // namespace gantry::cuda
