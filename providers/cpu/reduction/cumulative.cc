// SPDX-License-Identifier: Apache-2.0
// CumSum and CumProd. The axis is an input. Integers wrap around; 16-bit floats are accumulated in
// f32.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Least number of elements for a thread.
constexpr int64_t kCumulativeGrain = 16384;
/// Columns that are accumulated together where the axis is not the innermost.
constexpr int64_t kCumulativeColumns = 1024;

using CumulativeTypes = Concat<FloatTypes, TypeList<int32_t, int64_t, uint32_t, uint64_t>>;

/// Accumulator: signed integers are accumulated as unsigned ones, which wrap around.
template <class T>
using Acc = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                        std::type_identity<Compute<T>>>::type;

struct Plus {
  template <class A>
  static A start() {
    return A{0};
  }
  template <class A>
  static A join(A a, A b) {
    return a + b;
  }
};
struct Times {
  template <class A>
  static A start() {
    return A{1};
  }
  template <class A>
  static A join(A a, A b) {
    return a * b;
  }
};

template <class Op>
class Cumulative final : public NodeKernel {
 public:
  explicit Cumulative(const sdk::NodeView& node)
      : NodeKernel(node),
        is_exclusive_(node.get_int("exclusive", 0) != 0),
        is_reverse_(node.get_int("reverse", 0) != 0) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    const uint32_t dtype = call.input(0).dtype;
    const int64_t given = read_int(call, 1);
    if (x.rank == 0) fail("input 0 is a scalar, needs at least one axis");
    const int axis = checked_axis(given, x.rank);
    gantry_tensor& output = call.output(0, dtype, x);
    if (x.element_count() == 0) return;
    const Lines lines = {x.count(0, axis), x[axis], x.count(axis + 1, x.rank)};
    dispatch<CumulativeTypes>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      accumulate(call, lines, call.data<T>(0), static_cast<T*>(output.data));
    });
  }

 private:
  struct Lines {
    int64_t outer;
    int64_t extent;
    int64_t inner;
  };

  template <class T>
  void accumulate(sdk::Call& call, const Lines& lines, const T* x, T* y) const {
    using A = Acc<T>;
    if (lines.inner == 1) return accumulate_lines(call, lines, x, y);
    // Wide blocks read fastest, but every thread needs one.
    const int64_t width =
        std::clamp<int64_t>(lines.inner / call.thread_count(), 128, kCumulativeColumns);
    const int64_t blocks = (lines.inner + width - 1) / width;
    const int64_t grain =
        std::max<int64_t>(1, kCumulativeGrain / (lines.extent * std::min(width, lines.inner)));
    const int64_t step = is_reverse_ ? -lines.inner : lines.inner;
    call.parallel_for(lines.outer * blocks, grain, [&](int64_t begin, int64_t end) {
      A total[kCumulativeColumns];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * width;
        const int64_t count = std::min(width, lines.inner - first);
        int64_t at = i / blocks * lines.extent * lines.inner + first +
                     (is_reverse_ ? (lines.extent - 1) * lines.inner : 0);
        std::fill_n(total, count, Op::template start<A>());
        for (int64_t n = 0; n < lines.extent; ++n, at += step)
          step_row(x + at, y + at, total, count);
      }
    });
  }

  /// Lines that are rows: the total stays in a register.
  template <class T>
  void accumulate_lines(sdk::Call& call, const Lines& lines, const T* x, T* y) const {
    const int64_t grain = std::max<int64_t>(1, kCumulativeGrain / lines.extent);
    const int64_t step = is_reverse_ ? -1 : 1;
    const bool is_exclusive = is_exclusive_;
    call.parallel_for(lines.outer, grain, [=](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        auto total = Op::template start<Acc<T>>();
        int64_t at = line * lines.extent + (step < 0 ? lines.extent - 1 : 0);
        for (int64_t n = 0; n < lines.extent; ++n, at += step) {
          const auto next = Op::template join<Acc<T>>(total, static_cast<Acc<T>>(x[at]));
          y[at] = static_cast<T>(is_exclusive ? total : next);
          total = next;
        }
      }
    });
  }

  /// One step of `count` lines. A separate function, so that the loop vectorizes.
  template <class T, class A>
  void step_row(const T* __restrict x, T* __restrict y, A* __restrict total, int64_t count) const {
    if (is_exclusive_) {
      for (int64_t k = 0; k < count; ++k) {
        y[k] = static_cast<T>(total[k]);
        total[k] = Op::template join<A>(total[k], static_cast<A>(x[k]));
      }
    } else {
      for (int64_t k = 0; k < count; ++k)
        total[k] = Op::template join<A>(total[k], static_cast<A>(x[k]));
      if constexpr (sizeof(T) == sizeof(A)) {
        std::memcpy(y, total, static_cast<size_t>(count) * sizeof(T));
      } else {
        for (int64_t k = 0; k < count; ++k) y[k] = static_cast<T>(total[k]);
      }
    }
  }

  bool is_exclusive_;
  bool is_reverse_;
};

constexpr sdk::DTypeSet kCumulative = dtype_set(CumulativeTypes{});

constexpr sdk::KernelRow kCumulativeRows[] = {
    {"CumSum", 11, sdk::kLatest, kCumulative, sdk::make<Cumulative<Plus>>, {.host_inputs = 2}},
    {"CumProd", 26, sdk::kLatest, kCumulative, sdk::make<Cumulative<Times>>, {.host_inputs = 2}},
};

}  // namespace

sdk::KernelTable cumulative_kernels() { return sdk::table(kCumulativeRows); }

}  // namespace gantry::cpu
