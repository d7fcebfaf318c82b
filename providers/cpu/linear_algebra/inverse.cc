// SPDX-License-Identifier: Apache-2.0
// Inverse of com.microsoft: inverts square matrices by Gauss-Jordan elimination with pivoting, in
// f64.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

using InverseTypes = TypeList<float, double, Float16>;

/// `a`: [n, 2 n], a matrix beside the identity; afterwards the right half is the inverse. A
/// singular matrix gives infinities or NaN.
void invert(double* a, int64_t n) {
  const int64_t width = 2 * n;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row) {
      if (std::fabs(a[row * width + column]) > std::fabs(a[pivot * width + column])) pivot = row;
    }
    double* head = a + column * width;
    if (pivot != column) std::swap_ranges(head, head + width, a + pivot * width);
    const double factor =
        head[column] == 0 ? std::numeric_limits<double>::infinity() : 1 / head[column];
    for (int64_t i = 0; i < width; ++i) head[i] *= factor;
    for (int64_t row = 0; row < n; ++row) {
      if (row == column) continue;
      double* other = a + row * width;
      const double share = other[column];
      for (int64_t i = column; i < width; ++i) other[i] -= share * head[i];
    }
  }
}

class Inverse final : public NodeKernel {
 public:
  explicit Inverse(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    if (x.rank < 2 || x[x.rank - 1] != x[x.rank - 2])
      fail("input 0 has shape " + to_string(x) + ", needs square matrices");
    const int64_t n = x[x.rank - 1];
    gantry_tensor& output = call.output(0, call.input(0).dtype, x);
    const int64_t elements = x.element_count();
    if (elements == 0) return;
    auto* work = call.scratch<double>(2 * n * n);
    dispatch<InverseTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const T* source = call.data<T>(0);
      auto* target = static_cast<T*>(output.data);
      for (int64_t first = 0; first < elements; first += n * n) {
        for (int64_t row = 0; row < n; ++row) {
          double* line = work + row * 2 * n;
          for (int64_t i = 0; i < n; ++i) {
            line[i] = static_cast<double>(static_cast<Compute<T>>(source[first + row * n + i]));
            line[n + i] = i == row ? 1 : 0;
          }
        }
        invert(work, n);
        for (int64_t row = 0; row < n; ++row) {
          for (int64_t i = 0; i < n; ++i) {
            const double value = work[row * 2 * n + n + i];
            target[first + row * n + i] = static_cast<T>(static_cast<Compute<T>>(value));
          }
        }
        call.poll();
      }
    });
  }
};

constexpr sdk::KernelRow kInverseRows[] = {
    {"Inverse",
     1,
     sdk::kLatest,
     dtype_set(InverseTypes{}),
     sdk::make<Inverse>,
     {},
     nullptr,
     "com.microsoft"},
};

}  // namespace

sdk::KernelTable inverse_kernels() { return sdk::table(kInverseRows); }

}  // namespace gantry::cpu
