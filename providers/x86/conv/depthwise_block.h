// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution and the 1x1 convolutions around it in one kernel.
#pragma once

#include "conv/depthwise_block_match.h"
#include "fuse/kernels.h"

namespace gantry::x86 {

/// The block as a fusion, with its convolutions.
struct DepthwiseBlockFusion : Fusion {
  DepthwiseBlock block;
};

/// The block whose first convolution is `root`; null: there is none.
std::unique_ptr<Fusion> match_depthwise_block(const MatchScope& scope, uint32_t root);
std::span<const Implementation> depthwise_block_implementations(const Fusion& fusion);

}  // namespace gantry::x86
