// SPDX-License-Identifier: Apache-2.0
// Plans a matmul whose operand layouts are known, with the fastest of cuBLASLt and the provider's
// kernels. Pure functions.
#pragma once

#include <vector>

#include "operators/linear_algebra/matmul_call.h"

namespace gantry::cuda {

/// Adds the steps. Candidates: cuBLASLt, a skinny GEMM kernel for few rows that reads the right
/// operand once, and a tensor-core kernel for 16-bit floats; autotuning takes the fastest. Without
/// any of them: the generic kernel.
void plan_matmul(Planner& planner, const MatmulCall& call);

/// Adds the steps of matmuls that share the left operand and have at most a bias. Skinny and
/// tensor-core matmuls are one launch.
void plan_matmuls(Planner& planner, const std::vector<MatmulCall>& calls);

}  // namespace gantry::cuda
