// SPDX-License-Identifier: Apache-2.0
// Tensor-core matmul kernel for 16-bit floats, with the whole epilogue; also several matmuls of one
// left operand in one launch, and split-K.
#pragma once

#include <vector>

#include "operators/linear_algebra/matmul_call.h"

namespace gantry::cuda {

/// Whether the kernel takes the call: 16-bit floats whose rows are multiples of 16 bytes.
bool takes_matmul_tiles(const MatmulCall& call);

/// Adds the launch of one matmul, or of up to MOST_MATMULS that share the left operand and have the
/// same layout. Requires takes_matmul_tiles of each.
void launch_matmul_tiles(Planner& planner, const std::vector<MatmulCall>& calls);

/// Whether there are too few tiles to fill the device, so that split-K pays.
bool should_split_k(const Planner& planner, const MatmulCall& call);

/// Adds a split-K matmul: several blocks per tile, then a launch that reduces their partial sums.
/// Requires should_split_k.
void launch_split_k_matmul_tiles(Planner& planner, const MatmulCall& call);

}  // namespace gantry::cuda
