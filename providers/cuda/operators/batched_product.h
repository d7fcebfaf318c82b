// SPDX-License-Identifier: Apache-2.0
// Products of matrices that an operator makes from its own operands.
#pragma once

#include "operators.h"

namespace gantry::cuda {

/// y = a b for each of a batch; a: [m, k], b: [k, n], y: [m, n], dense, one behind the other.
struct BatchedProduct {
  uint32_t dtype = 0;  ///< of all of them; f32, f16, bf16, f64 or an integer of 32 or 64 bits
  int64_t m = 0, n = 0, k = 0;
  bool a_is_transposed = false;  ///< lies in memory as [k, m]
  bool b_is_transposed = false;  ///< lies in memory as [n, k]
  /// Elements from a row as it lies in memory to the next, 0: dense. Those of a row lie side by
  /// side.
  int64_t a_row = 0, b_row = 0;
  Extents batch;                 ///< none: one product
  Extents a_strides, b_strides;  ///< in elements, of the axes of the batch
};

/// Types that it takes.
inline constexpr sdk::DTypeSet kFactors =
    sdk::kFloats | sdk::dtypes(GANTRY_INT32, GANTRY_INT64, GANTRY_UINT32, GANTRY_UINT64);

/// Adds the steps as plan_product does. UNSUPPORTED: the batch is walked along too many axes.
void plan_batched_product(Planner& planner, const BatchedProduct& product, const Buffer& a,
                          const Buffer& b, const Buffer& y);

}  // namespace gantry::cuda
