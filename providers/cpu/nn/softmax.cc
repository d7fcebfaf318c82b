// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax and Hardmax. From version 13 on along one axis; before, over all axes from
// `axis` on. f32 with the axis innermost is vectorised (row_math.h); 16-bit floats are computed in
// f32.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "convert.h"
#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"
#include "simd/row_math.h"
#include "simd/vector_math.h"

namespace gantry::cpu {
namespace {

/// Least number of elements for a thread.
constexpr int64_t kSoftmaxGrain = 8192;
/// Columns that are computed together if the axis is not the innermost.
constexpr int64_t kSoftmaxColumns = 256;

/// y[i] = exp(x[i])
template <class C>
void exponentials(const C* x, C* y, int64_t count) {
  if constexpr (std::is_same_v<C, float>) {
    simd::exp(x, y, count, nullptr);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = std::exp(x[i]);
  }
}

/// top[i] = the largest of the n elements of column i; rows are `step` elements apart.
template <class C>
void find_tops(const C* x, int64_t n, int64_t step, int64_t count, C* top) {
  std::copy_n(x, count, top);
  for (int64_t k = 1; k < n; ++k) {
    for (int64_t i = 0; i < count; ++i)
      top[i] = x[k * step + i] > top[i] ? x[k * step + i] : top[i];
  }
}

struct Softmax {
  /// One contiguous line, step by step, with correct results for infinities and NaN.
  template <class C>
  static void line(const C* x, C* y, int64_t n) {
    const C top = *std::max_element(x, x + n);
    C total = C{0};
    for (int64_t i = 0; i < n; ++i) total += y[i] = std::exp(x[i] - top);
    for (int64_t i = 0; i < n; ++i) y[i] /= total;
  }
  /// Computes consecutive lines with SIMD; returns the number of lines done, see softmax_rows().
  static int64_t lines(const float* x, float* y, int64_t n, int64_t count) {
    return simd::softmax_rows(x, y, n, count);
  }
  /// `count` columns of n elements; rows are `step` elements apart.
  template <class C>
  static void columns(const C* x, C* y, int64_t n, int64_t step, int64_t count) {
    C top[kSoftmaxColumns];
    C total[kSoftmaxColumns] = {};
    find_tops(x, n, step, count, top);
    for (int64_t k = 0; k < n; ++k) {
      C* row = y + k * step;
      for (int64_t i = 0; i < count; ++i) row[i] = x[k * step + i] - top[i];
      exponentials(row, row, count);
      for (int64_t i = 0; i < count; ++i) total[i] += row[i];
    }
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t i = 0; i < count; ++i) y[k * step + i] /= total[i];
    }
  }
};

struct LogSoftmax {
  template <class C>
  static void line(const C* x, C* y, int64_t n) {
    C total = C{0};
    const C top = *std::max_element(x, x + n);
    for (int64_t i = 0; i < n; ++i) total += std::exp(x[i] - top);
    const C shift = std::log(total);
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] - top - shift;
  }
  static int64_t lines(const float* x, float* y, int64_t n, int64_t count) {
    return simd::log_softmax_rows(x, y, n, count);
  }
  template <class C>
  static void columns(const C* x, C* y, int64_t n, int64_t step, int64_t count) {
    C top[kSoftmaxColumns];
    C total[kSoftmaxColumns] = {};
    C powers[kSoftmaxColumns];
    find_tops(x, n, step, count, top);
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t i = 0; i < count; ++i) powers[i] = x[k * step + i] - top[i];
      exponentials(powers, powers, count);
      for (int64_t i = 0; i < count; ++i) total[i] += powers[i];
    }
    for (int64_t i = 0; i < count; ++i) total[i] = std::log(total[i]);
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t i = 0; i < count; ++i) y[k * step + i] = x[k * step + i] - top[i] - total[i];
    }
  }
};

/// 1 at the first of the largest elements, 0 elsewhere.
struct Hardmax {
  template <class C>
  static void line(const C* x, C* y, int64_t n) {
    int64_t best = 0;
    if constexpr (std::is_same_v<C, float>) {
      best = std::find(x, x + n, simd::largest(x, n)) - x;
    }
    // The search by value finds nothing if an element is NaN.
    if (!std::is_same_v<C, float> || best == n) best = std::max_element(x, x + n) - x;
    std::fill_n(y, n, C{0});
    y[best] = C{1};
  }
  static int64_t lines(const float* /*x*/, float* /*y*/, int64_t /*n*/, int64_t /*count*/) {
    return 0;
  }
  template <class C>
  static void columns(const C* x, C* y, int64_t n, int64_t step, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t best = 0;
      for (int64_t k = 1; k < n; ++k) {
        if (x[k * step + i] > x[best * step + i]) best = k;
      }
      for (int64_t k = 0; k < n; ++k) y[k * step + i] = k == best ? C{1} : C{0};
    }
  }
};

/// `kFlat`: over all axes from `axis` on.
template <class Op, bool kFlat>
class SoftmaxKernel final : public NodeKernel {
 public:
  explicit SoftmaxKernel(const sdk::NodeView& node)
      : NodeKernel(node), axis_(node.get_int("axis", kFlat ? 1 : -1)) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape shape = call.shape(0);
    gantry_tensor& output = call.output(0, call.input(0).dtype, shape);
    if (shape.element_count() == 0) return;
    // A scalar is treated as [1]; the flat form also accepts axis == rank.
    const bool is_whole = shape.rank == 0 || (kFlat && axis_ == shape.rank);
    const int axis = is_whole ? shape.rank : checked_axis(axis_, shape.rank);
    Lines lines;
    lines.outer = shape.count(0, axis);
    lines.extent = is_whole ? 1 : shape.count(axis, kFlat ? shape.rank : axis + 1);
    lines.inner = is_whole || kFlat ? 1 : shape.count(axis + 1, shape.rank);
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const auto* x = widened<T>(call, call.input(0));
      auto* y = wide_output<T>(call, output);
      compute(call, lines, x, y);
      narrow<T>(call, y, output);
    });
  }

 private:
  struct Lines {
    int64_t outer;
    int64_t extent;
    int64_t inner;
  };

  template <class C>
  static void compute(sdk::Call& call, const Lines& lines, const C* x, C* y) {
    const int64_t n = lines.extent;
    if (lines.inner == 1) {
      call.parallel_for(lines.outer, std::max<int64_t>(1, kSoftmaxGrain / n),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            if constexpr (std::is_same_v<C, float>) {
                              i += Op::lines(x + i * n, y + i * n, n, end - i);
                              if (i == end) return;
                            }
                            Op::line(x + i * n, y + i * n, n);
                          }
                        });
      return;
    }
    const int64_t blocks = (lines.inner + kSoftmaxColumns - 1) / kSoftmaxColumns;
    const int64_t grain =
        std::max<int64_t>(1, kSoftmaxGrain / (n * std::min(kSoftmaxColumns, lines.inner)));
    call.parallel_for(lines.outer * blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * kSoftmaxColumns;
        const int64_t at = i / blocks * n * lines.inner + first;
        Op::columns(x + at, y + at, n, lines.inner, std::min(kSoftmaxColumns, lines.inner - first));
      }
    });
  }

  int64_t axis_;
};

constexpr sdk::KernelRow kSoftmaxRows[] = {
    {"Softmax", 1, 12, sdk::kFloats, sdk::make<SoftmaxKernel<Softmax, true>>},
    {"Softmax", 13, sdk::kLatest, sdk::kFloats, sdk::make<SoftmaxKernel<Softmax, false>>},
    {"LogSoftmax", 1, 12, sdk::kFloats, sdk::make<SoftmaxKernel<LogSoftmax, true>>},
    {"LogSoftmax", 13, sdk::kLatest, sdk::kFloats, sdk::make<SoftmaxKernel<LogSoftmax, false>>},
    {"Hardmax", 1, 12, sdk::kFloats, sdk::make<SoftmaxKernel<Hardmax, true>>},
    {"Hardmax", 13, sdk::kLatest, sdk::kFloats, sdk::make<SoftmaxKernel<Hardmax, false>>},
};

}  // namespace

sdk::KernelTable softmax_kernels() { return sdk::table(kSoftmaxRows); }

}  // namespace gantry::cpu
