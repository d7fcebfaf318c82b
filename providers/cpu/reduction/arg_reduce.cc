// SPDX-License-Identifier: Apache-2.0
// ArgMax and ArgMin: the index of the extreme element along an axis; NaN counts as extreme, as in
// numpy.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Least number of elements for a thread.
constexpr int64_t kArgReduceGrain = 16384;
/// Columns that are compared together where the axis is not the innermost.
constexpr int64_t kArgReduceColumns = 128;

template <class Order>
class ArgReduce final : public NodeKernel {
 public:
  explicit ArgReduce(const sdk::NodeView& node)
      : NodeKernel(node),
        axis_(node.get_int("axis", 0)),
        keeps_dims_(node.get_int("keepdims", 1) == 1),
        takes_last_(node.get_int("select_last_index", 0) != 0) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    // A scalar is reduced as a tensor of shape [1].
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

  /// True if `x` replaces `best`, whose index is lower. Without branches, so that loops vectorize.
  template <bool kLast, class C>
  static bool replaces(C x, C best) {
    const int is_nan = static_cast<int>(x != x);
    const int was_number = static_cast<int>(best == best);
    if constexpr (kLast) return (is_nan | (was_number & static_cast<int>(!Order()(best, x)))) != 0;
    return ((is_nan | static_cast<int>(Order()(x, best))) & was_number) != 0;
  }

  /// Type of indices within a line: as wide as the elements if that is enough, so that loops
  /// vectorize.
  template <class C>
  using Index = std::conditional_t<sizeof(C) <= 4, int32_t, int64_t>;

  /// Index of the best of rows [0, extent), `step` elements apart, for each of `width` columns.
  template <bool kLast, class T, class C>
  static void scan(const T* source, int64_t extent, int64_t step, int64_t width, C* __restrict best,
                   Index<C>* __restrict index) {
    for (int64_t k = 0; k < width; ++k) {
      best[k] = static_cast<C>(source[k]);
      index[k] = 0;
    }
    for (int64_t n = 1; n < extent; ++n) {
      source += step;
      const auto at = static_cast<Index<C>>(n);
      for (int64_t k = 0; k < width; ++k) {
        const auto value = static_cast<C>(source[k]);
        const bool is_better = replaces<kLast>(value, best[k]);
        best[k] = is_better ? value : best[k];
        index[k] = is_better ? at : index[k];
      }
    }
  }

  template <class T, bool kLast>
  void find(sdk::Call& call, const Lines& lines, int64_t* y) const {
    const T* x = call.data<T>(0);
    if (lines.inner == 1) {
      const int64_t grain = std::max<int64_t>(1, kArgReduceGrain / lines.extent);
      call.parallel_for(lines.outer, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          y[i] = find_in_row<T, kLast>(x + i * lines.extent, lines.extent);
      });
      return;
    }
    find_in_columns<T, kLast>(call, lines, x, y);
  }

  template <class T, bool kLast>
  void find_in_columns(sdk::Call& call, const Lines& lines, const T* x, int64_t* y) const {
    using C = Compute<T>;
    if (lines.extent > std::numeric_limits<int32_t>::max()) {
      fail("the axis has " + std::to_string(lines.extent) + " elements, expected less than 2^31",
           GANTRY_UNSUPPORTED);
    }
    const int64_t blocks = (lines.inner + kArgReduceColumns - 1) / kArgReduceColumns;
    const int64_t grain = std::max<int64_t>(
        1, kArgReduceGrain / (lines.extent * std::min(kArgReduceColumns, lines.inner)));
    call.parallel_for(lines.outer * blocks, grain, [&](int64_t begin, int64_t end) {
      C best[kArgReduceColumns];
      Index<C> index[kArgReduceColumns];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * kArgReduceColumns;
        const int64_t count = std::min(kArgReduceColumns, lines.inner - first);
        scan<kLast>(x + i / blocks * lines.extent * lines.inner + first, lines.extent, lines.inner,
                    count, best, index);
        std::copy_n(index, count, y + i / blocks * lines.inner + first);
      }
    });
  }

  /// Treats a row as lines of kLanes elements, finds the best of each column, then the best of
  /// these.
  template <class T, bool kLast>
  static int64_t find_in_row(const T* x, int64_t extent) {
    using C = Compute<T>;
    constexpr int64_t kLanes = 16;
    C best[kLanes];
    Index<C> index[kLanes];
    const int64_t lanes = extent >= 2 * kLanes ? kLanes : 1;
    const int64_t rows = extent / lanes;
    scan<kLast>(x, rows, lanes, lanes, best, index);
    C winner = best[0];
    int64_t at = index[0] * lanes;
    for (int64_t lane = 1; lane < lanes; ++lane)
      challenge<kLast>(best[lane], index[lane] * lanes + lane, winner, at);
    for (int64_t i = rows * lanes; i < extent; ++i)
      challenge<kLast>(static_cast<C>(x[i]), i, winner, at);
    return at;
  }
  /// Compares `x` of index `from` with the best so far, whose index may be lower or higher.
  template <bool kLast, class C>
  static void challenge(C x, int64_t from, C& winner, int64_t& at) {
    const bool is_equal = x == winner || (x != x && winner != winner);
    const bool wins = is_equal ? (from < at) != kLast : replaces<false>(x, winner);
    if (!wins) return;
    winner = x;
    at = from;
  }

  int64_t axis_;
  bool keeps_dims_;
  bool takes_last_;
};

constexpr sdk::KernelRow kArgReduceRows[] = {
    {"ArgMax", 1, sdk::kLatest, sdk::kNumbers, sdk::make<ArgReduce<std::greater<>>>},
    {"ArgMin", 1, sdk::kLatest, sdk::kNumbers, sdk::make<ArgReduce<std::less<>>>},
};

}  // namespace

sdk::KernelTable arg_reduce_kernels() { return sdk::table(kArgReduceRows); }

}  // namespace gantry::cpu
