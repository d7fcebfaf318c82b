// SPDX-License-Identifier: Apache-2.0
// ArgMax and ArgMin: the place of the extreme element along an axis; NaN counts as extreme, as in
// numpy.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "dispatch.h"
#include "kernels/all_kernels.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Elements that one thread compares at least.
constexpr int64_t kGrain = 16384;
/// Columns that are compared together where the axis is not the innermost.
constexpr int64_t kColumns = 128;

struct Greater {
  template <class C>
  static bool before(C a, C b) {
    return a > b;
  }
};
struct Less {
  template <class C>
  static bool before(C a, C b) {
    return a < b;
  }
};

template <class Order>
class ArgReduce final : public NodeKernel {
 public:
  explicit ArgReduce(const sdk::NodeView& node)
      : NodeKernel(node),
        axis_(node.get_int("axis", 0)),
        keeps_dims_(node.get_int("keepdims", 1) != 0),
        takes_last_(node.get_int("select_last_index", 0) != 0) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    // A scalar is a line of one.
    const int axis = x.rank == 0 ? 0 : checked_axis(axis_, x.rank);
    Dims shape;
    for (int i = 0; i < x.rank; ++i) {
      if (i != axis) shape.push(x[i]);
      if (i == axis && keeps_dims_) shape.push(1);
    }
    const int64_t outputs = count_of(shape.shape());
    auto* y = static_cast<int64_t*>(call.output(0, GANTRY_INT64, shape.shape()).data);
    if (outputs == 0) return;
    const Lines lines = {x.count(0, axis), x.rank == 0 ? 1 : x[axis],
                         x.rank == 0 ? 1 : x.count(axis + 1, x.rank)};
    if (lines.extent == 0)
      fail("the axis has no elements, so that none is the largest or smallest");
    dispatch<NumberTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      takes_last_ ? find<T, true>(call, lines, y) : find<T, false>(call, lines, y);
    });
  }

 private:
  struct Lines {
    int64_t outer;
    int64_t extent;
    int64_t inner;
  };

  /// Whether `x` takes the place of `best`, which stands before it.
  template <bool kLast, class C>
  static bool replaces(C x, C best) {
    if (best != best) return kLast && x != x;
    if (x != x) return true;
    return kLast ? !Order::before(best, x) : Order::before(x, best);
  }

  template <class T, bool kLast>
  static void find(sdk::Call& call, const Lines& lines, int64_t* y) {
    using C = Compute<T>;
    const T* x = call.data<T>(0);
    const int64_t blocks = (lines.inner + kColumns - 1) / kColumns;
    const int64_t grain =
        std::max<int64_t>(1, kGrain / (lines.extent * std::min(kColumns, lines.inner)));
    call.parallel_for(lines.outer * blocks, grain, [&](int64_t begin, int64_t end) {
      C best[kColumns];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * kColumns;
        const int64_t count = std::min(kColumns, lines.inner - first);
        const T* source = x + i / blocks * lines.extent * lines.inner + first;
        int64_t* place = y + i / blocks * lines.inner + first;
        for (int64_t k = 0; k < count; ++k) best[k] = static_cast<C>(source[k]);
        std::fill_n(place, count, 0);
        for (int64_t n = 1; n < lines.extent; ++n) {
          source += lines.inner;
          for (int64_t k = 0; k < count; ++k) {
            const auto value = static_cast<C>(source[k]);
            const bool is_better = replaces<kLast>(value, best[k]);
            best[k] = is_better ? value : best[k];
            place[k] = is_better ? n : place[k];
          }
        }
      }
    });
  }

  int64_t axis_;
  bool keeps_dims_;
  bool takes_last_;
};

constexpr sdk::KernelRow kArgReduceRows[] = {
    {"ArgMax", 1, sdk::kLatest, sdk::kNumbers, sdk::make<ArgReduce<Greater>>},
    {"ArgMin", 1, sdk::kLatest, sdk::kNumbers, sdk::make<ArgReduce<Less>>},
};

}  // namespace

sdk::KernelTable arg_reduce_kernels() { return sdk::table(kArgReduceRows); }

}  // namespace gantry::cpu
