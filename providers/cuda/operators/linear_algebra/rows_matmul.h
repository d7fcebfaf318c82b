// SPDX-License-Identifier: Apache-2.0
// A matmul as a step of other operators.
#pragma once

#include "operators/operators.h"

namespace gantry::cuda {

/// y = a b + bias + added, all of one element type. a: [m, k], b: [n, k] if transposed, else [k,
/// n], bias: [n], added and y: [m, n].
struct RowsMatmul {
  uint32_t dtype = 0;  ///< a float type
  int64_t m = 0, n = 0, k = 0;
  bool b_is_transposed = true;
};

/// Adds the steps, as plan_matmul. `bias` and `added` may be null.
void plan_rows_matmul(Planner& planner, const RowsMatmul& matmul, const Buffer& a, const Buffer& b,
                      const Buffer* bias, const Buffer& y, const Buffer* added = nullptr);

}  // namespace gantry::cuda
