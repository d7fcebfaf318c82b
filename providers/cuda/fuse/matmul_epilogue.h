// SPDX-License-Identifier: Apache-2.0
// Finds the epilogue of a MatMul, Gemm or MatMulNBits: a bias, a residual addition of a tensor of
// the result's shape, and an activation. Pure functions.
#pragma once

#include <cstdint>
#include <memory>

#include "fuse/fusion.h"

namespace gantry::cuda {

/// The epilogue of a matmul, in the order of application. Inputs of the claim: those of the matmul,
/// the bias, then the addend. A MatMulNBits has at most an addend.
struct MatmulEpilogue {
  bool has_bias = false;
  bool has_addend = false;
  MatmulActivation activation = MatmulActivation::kNone;
};

/// A matmul with its epilogue. The root is the first node.
struct MatmulFusion : Fusion {
  MatmulEpilogue epilogue;
  uint32_t bias = GANTRY_NONE;  ///< value that is added to each row
};

/// The float MatMul or Gemm at `root` and the following nodes that can be fused with it.
std::unique_ptr<MatmulFusion> match_matmul(const sdk::FusionScope& scope, uint32_t root);
/// The MatMulNBits at `root` and the Add behind it; null without one.
std::unique_ptr<MatmulFusion> match_nbits_matmul(const sdk::FusionScope& scope, uint32_t root);

}  // namespace gantry::cuda
