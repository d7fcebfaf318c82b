// SPDX-License-Identifier: Apache-2.0
// A product inside of another operator's plan.
#pragma once

#include "operators.h"

namespace gantry::cuda {

/// y = a b + bias + added, of one element type. a: [m, k], b: [n, k] if it is transposed, else
/// [k, n], bias: [n], added and y: [m, n].
struct RowsProduct {
  uint32_t dtype = 0;  ///< of floats
  int64_t m = 0, n = 0, k = 0;
  bool b_is_transposed = true;
};

/// By cuBLASLt where it is there. `bias` and `added` may be null.
void plan_rows_product(Planner& planner, const RowsProduct& product, const Buffer& a,
                       const Buffer& b, const Buffer* bias, const Buffer& y,
                       const Buffer* added = nullptr);

}  // namespace gantry::cuda
