// SPDX-License-Identifier: Apache-2.0
// The matrices of MatMul operands, by numpy's rules: a rank-1 operand is a row on the left and a
// column on the right, and leading axes are broadcast. Works on shapes only. Made per run, on the
// stack.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "broadcast.h"
#include "dims.h"
#include "linear_algebra/blas.h"

namespace gantry::cpu {

/// Pairs of matrices a[m, k] and b[k, n] that a MatMul of two shapes multiplies.
class MatrixBatches {
 public:
  /// Throws INVALID_ARGUMENT, with `label` as the subject, if the shapes do not fit each other.
  MatrixBatches(sdk::Shape a, sdk::Shape b, const std::string& label)
      : plan_({leading(a), leading(b)}, label), shape_(plan_.shape()) {
    if (a.rank == 0 || b.rank == 0)
      fail(label, "the inputs must have at least one axis, not shapes " + both(a, b));
    m = a.rank > 1 ? a[a.rank - 2] : 1;
    k = a[a.rank - 1];
    n = b.rank > 1 ? b[b.rank - 1] : 1;
    if (b[b.rank > 1 ? b.rank - 2 : 0] != k)
      fail(label, "the inner extents of " + both(a, b) + " differ");
    if (a.rank > 1) shape_.push(m);
    if (b.rank > 1) shape_.push(n);
  }

  int64_t m;  ///< rows of a matrix of a
  int64_t k;  ///< its columns
  int64_t n;  ///< columns of a matrix of b

  /// Shape of the result.
  [[nodiscard]] sdk::Shape shape() const { return shape_.shape(); }
  /// Number of matrices of the result.
  [[nodiscard]] int64_t count() const { return plan_.count(); }
  /// True if one GEMM computes the result: all matrices of a share one matrix of b, and their rows
  /// together are below 2^31. Requires a result that is not empty.
  [[nodiscard]] bool is_one_gemm() const {
    constexpr int64_t kMostRows = int64_t{1} << 31;
    const bool shares_b =
        plan_.is_flat() &&
        (count() == 1 || (plan_.inner_stride(0) == 1 && plan_.inner_stride(1) == 0));
    return shares_b && count() * m < kMostRows;
  }
  /// Calls visit(result, a, b) with the indices of three matrices, for the matrices [begin, end) of
  /// the result, in order.
  template <class Visit>
  void for_each(int64_t begin, int64_t end, Visit&& visit) const {
    plan_.for_each_run(begin, end, [&](const auto& run) {
      for (int64_t i = 0; i < run.count; ++i) {
        visit(run.output + i, run.inputs[0] + i * plan_.inner_stride(0),
              run.inputs[1] + i * plan_.inner_stride(1));
      }
    });
  }

 private:
  static sdk::Shape leading(sdk::Shape shape) { return {shape.data, std::max(shape.rank - 2, 0)}; }
  static std::string both(sdk::Shape a, sdk::Shape b) {
    return to_string(a) + " and " + to_string(b);
  }
  [[noreturn]] static void fail(const std::string& label, const std::string& what) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, label + ": " + what);
  }

  Broadcast<2> plan_;  // each matrix is one element
  Dims shape_;
};

}  // namespace gantry::cpu
