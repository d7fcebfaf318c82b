// SPDX-License-Identifier: Apache-2.0
// Batched matmuls as a step of other operators.
#pragma once

#include "operators/operators.h"

namespace gantry::cuda {

/// y = a b for each of a batch. a: [m, k], b: [k, n], y: [m, n], dense, with consecutive matrices.
struct BatchedMatmul {
  uint32_t dtype = 0;  ///< of all: f32, f16, bf16, f64, or an integer of 32 or 64 bits
  int64_t m = 0, n = 0, k = 0;
  bool a_is_transposed = false;  ///< stored as [k, m]
  bool b_is_transposed = false;  ///< stored as [n, k]
  /// Leading dimensions in elements; 0: dense. The elements of a row are contiguous.
  int64_t a_row = 0, b_row = 0;
  Extents batch;                 ///< empty: one matmul
  Extents a_strides, b_strides;  ///< in elements, of the axes of the batch
};

/// Element types that it supports.
inline constexpr sdk::DTypeSet kFactors =
    sdk::kFloats | sdk::dtypes(GANTRY_INT32, GANTRY_INT64, GANTRY_UINT32, GANTRY_UINT64);

/// Adds the steps, as plan_matmul. UNSUPPORTED: the batch has too many axes after merging.
void plan_batched_matmul(Planner& planner, const BatchedMatmul& matmul, const Buffer& a,
                         const Buffer& b, const Buffer& y);

}  // namespace gantry::cuda
