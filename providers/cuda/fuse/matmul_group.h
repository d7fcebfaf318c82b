// SPDX-License-Identifier: Apache-2.0
// Grouped matmuls: several constant right operands that share one left operand, as one claim:
// queries, keys and values, or the two halves of a gated layer. Skinny ones are one launch. Pure
// functions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fuse/matmul_epilogue.h"

namespace gantry::cuda {

/// Limit of matmuls in a group.
constexpr size_t kMostGrouped = 4;

/// Two to kMostGrouped matmuls. The root is the first.
struct MatmulGroupFusion : Fusion {
  MatmulGroupFusion() { is_group = true; }
  /// Ascending; each a MatMul with a constant bias or none, or a MatMulNBits alone.
  std::vector<MatmulFusion> members;
};

/// The group of the MatMul at `root` and those behind it that read the same left operand.
std::unique_ptr<MatmulGroupFusion> match_matmul_group(const sdk::FusionScope& scope, uint32_t root);
/// Likewise of MatMulNBits nodes.
std::unique_ptr<MatmulGroupFusion> match_nbits_matmul_group(const sdk::FusionScope& scope,
                                                            uint32_t root);

}  // namespace gantry::cuda
