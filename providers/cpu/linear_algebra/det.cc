// SPDX-License-Identifier: Apache-2.0
// Det: determinants by Gaussian elimination with partial pivoting, in f64.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Determinant of `a`, [n, n], which is overwritten.
double determinant(double* a, int64_t n) {
  double result = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row) {
      if (std::fabs(a[row * n + column]) > std::fabs(a[pivot * n + column])) pivot = row;
    }
    if (a[pivot * n + column] == 0) return 0;
    if (pivot != column) {
      std::swap_ranges(a + pivot * n, a + (pivot + 1) * n, a + column * n);
      result = -result;
    }
    const double head = a[column * n + column];
    result *= head;
    for (int64_t row = column + 1; row < n; ++row) {
      const double factor = a[row * n + column] / head;
      for (int64_t i = column + 1; i < n; ++i) a[row * n + i] -= factor * a[column * n + i];
    }
  }
  return result;
}

class Det final : public NodeKernel {
 public:
  explicit Det(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    if (x.rank < 2 || x[x.rank - 1] != x[x.rank - 2])
      fail("input 0 has shape " + to_string(x) + ", needs square matrices");
    const int64_t n = x[x.rank - 1];
    const sdk::Shape shape(x.data, x.rank - 2);
    gantry_tensor& output = call.output(0, call.input(0).dtype, shape);
    const int64_t count = shape.element_count();
    if (count == 0) return;
    const int64_t parts = n < 8 ? 1 : std::min<int64_t>(count, call.thread_count());
    auto* work = call.scratch<double>(parts * n * n);
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const T* source = call.data<T>(0);
      auto* target = static_cast<T*>(output.data);
      call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
          double* matrix = work + part * n * n;
          for (int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
            for (int64_t k = 0; k < n * n; ++k)
              matrix[k] = static_cast<double>(static_cast<Compute<T>>(source[i * n * n + k]));
            target[i] = static_cast<T>(static_cast<Compute<T>>(determinant(matrix, n)));
          }
        }
      });
    });
  }
};

constexpr sdk::KernelRow kDetRows[] = {
    {"Det", 11, sdk::kLatest, sdk::kFloats, sdk::make<Det>},
};

}  // namespace

sdk::KernelTable det_kernels() { return sdk::table(kDetRows); }

}  // namespace gantry::cpu
