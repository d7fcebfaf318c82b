// SPDX-License-Identifier: Apache-2.0
// The Reduce operators: ReduceSum, Mean, Max, Min, Prod, L1, L2, LogSum, LogSumExp, SumSquare.
// Neighbouring axes that are all reduced or all not reduced are merged. Then either each row is
// reduced to an element, or rows are accumulated elementwise. 16-bit floats are accumulated in f32.
// Integer sums wrap around; integer roots and logarithms are computed in f64 and truncated.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"
#include "simd/integer_vectors.h"
#include "simd/row_math.h"

namespace gantry::cpu {
namespace {

/// Least number of elements for a thread.
constexpr int64_t kReduceGrain = 32768;
/// Columns whose accumulators are on the stack at a time.
constexpr int64_t kReducedColumns = 1024;

/// Converts a double to an integer without undefined behaviour.
template <class T>
T truncated(double value) {
  constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
  if (value != value) return T{0};
  if (value <= kLow) return std::numeric_limits<T>::min();
  return value >= kHigh ? std::numeric_limits<T>::max() : static_cast<T>(value);
}

/// Accumulator of sums and products of T. Integers use 64 bits; the low bits are the wrapped
/// result.
template <class T>
using SumType = std::conditional_t<std::is_integral_v<T>, uint64_t, Compute<T>>;
/// Accumulator of reductions that end in a root or a logarithm.
template <class T>
using Real = std::conditional_t<std::is_integral_v<T>, double, Compute<T>>;

template <class T>
T from_real(Real<T> value) {
  if constexpr (std::is_integral_v<T>) {
    return truncated<T>(value);
  } else {
    return static_cast<T>(value);
  }
}
template <class C>
C magnitude(C x) {
  return x < C{0} ? C{0} - x : x;
}

// Each operator has, for an element type T: the accumulator and its start; fold(accumulator, x)
// with x of Compute<T>; join(accumulator, other); finish(accumulator, number of elements). `row`,
// if there is one, folds a row of a type.

template <class T>
struct SumOp {
  using Acc = SumType<T>;
  static Acc start() { return Acc{0}; }
  static Acc fold(Acc a, Compute<T> x) { return a + static_cast<Acc>(x); }
  static Acc join(Acc a, Acc b) { return a + b; }
  static T finish(Acc a, int64_t /*count*/) { return static_cast<T>(a); }
  static float row(const float* x, int64_t count) { return simd::sum(x, count); }
};
template <class T>
struct MeanOp : SumOp<T> {
  static T finish(SumType<T> a, int64_t count) {
    if constexpr (std::is_integral_v<T>) {
      if (count == 0) return T{0};
      if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<int64_t>(a) / count);
      return static_cast<T>(a / static_cast<uint64_t>(count));
    } else {
      return static_cast<T>(a / static_cast<SumType<T>>(count));
    }
  }
};
template <class T>
struct ProdOp {
  using Acc = SumType<T>;
  static Acc start() { return Acc{1}; }
  static Acc fold(Acc a, Compute<T> x) { return a * static_cast<Acc>(x); }
  static Acc join(Acc a, Acc b) { return a * b; }
  static T finish(Acc a, int64_t /*count*/) { return static_cast<T>(a); }
};
template <class T>
struct MaxOp {
  using Acc = Compute<T>;
  static Acc start() {
    if constexpr (std::numeric_limits<Acc>::has_infinity)
      return -std::numeric_limits<Acc>::infinity();
    return std::numeric_limits<Acc>::lowest();
  }
  static Acc fold(Acc a, Acc x) { return x > a || x != x ? x : a; }
  static Acc join(Acc a, Acc b) { return a != a ? a : fold(a, b); }
  static T finish(Acc a, int64_t /*count*/) { return static_cast<T>(a); }
  static float row(const float* x, int64_t count) { return simd::largest(x, count); }
  static int8_t row(const int8_t* x, int64_t count) { return simd::largest(x, count); }
  static uint8_t row(const uint8_t* x, int64_t count) { return simd::largest(x, count); }
};
template <class T>
struct MinOp {
  using Acc = Compute<T>;
  static Acc start() {
    if constexpr (std::numeric_limits<Acc>::has_infinity)
      return std::numeric_limits<Acc>::infinity();
    return std::numeric_limits<Acc>::max();
  }
  static Acc fold(Acc a, Acc x) { return x < a || x != x ? x : a; }
  static Acc join(Acc a, Acc b) { return a != a ? a : fold(a, b); }
  static T finish(Acc a, int64_t /*count*/) { return static_cast<T>(a); }
  static float row(const float* x, int64_t count) { return simd::smallest(x, count); }
  static int8_t row(const int8_t* x, int64_t count) { return simd::smallest(x, count); }
  static uint8_t row(const uint8_t* x, int64_t count) { return simd::smallest(x, count); }
};
template <class T>
struct L1Op : SumOp<T> {
  static SumType<T> fold(SumType<T> a, Compute<T> x) {
    if constexpr (std::is_integral_v<T>) {
      const auto wide = static_cast<uint64_t>(x);
      return a + (x < T{0} ? uint64_t{0} - wide : wide);
    } else {
      return a + magnitude(x);
    }
  }
  static float row(const float* x, int64_t count) { return simd::sum_of_magnitudes(x, count); }
};
template <class T>
struct SumSquareOp : SumOp<T> {
  static SumType<T> fold(SumType<T> a, Compute<T> x) {
    return a + static_cast<SumType<T>>(x) * static_cast<SumType<T>>(x);
  }
  static float row(const float* x, int64_t count) { return simd::sum_of_squares(x, count, 0.0F); }
};
template <class T>
struct L2Op {
  using Acc = Real<T>;
  static Acc start() { return Acc{0}; }
  static Acc fold(Acc a, Compute<T> x) { return a + static_cast<Acc>(x) * static_cast<Acc>(x); }
  static Acc join(Acc a, Acc b) { return a + b; }
  static T finish(Acc a, int64_t /*count*/) { return from_real<T>(std::sqrt(a)); }
  static float row(const float* x, int64_t count) { return simd::sum_of_squares(x, count, 0.0F); }
};
template <class T>
struct LogSumOp {
  using Acc = Real<T>;
  static Acc start() { return Acc{0}; }
  static Acc fold(Acc a, Compute<T> x) { return a + static_cast<Acc>(x); }
  static Acc join(Acc a, Acc b) { return a + b; }
  static T finish(Acc a, int64_t /*count*/) { return from_real<T>(std::log(a)); }
  static float row(const float* x, int64_t count) { return simd::sum(x, count); }
};
/// The sum is relative to the largest element so far, so that exp() does not overflow.
template <class T>
struct LogSumExpOp {
  struct Acc {
    Real<T> top;
    Real<T> total;
  };
  static Acc start() { return {-std::numeric_limits<Real<T>>::infinity(), Real<T>{0}}; }
  static Acc fold(Acc a, Compute<T> x) { return join(a, {static_cast<Real<T>>(x), Real<T>{1}}); }
  static Acc join(Acc a, Acc b) {
    if (b.top == a.top) return {a.top, a.total + b.total};
    if (b.top > a.top)
      return {b.top, b.total + (a.total == 0 ? Real<T>{0} : a.total * std::exp(a.top - b.top))};
    return {a.top, a.total + (b.total == 0 ? Real<T>{0} : b.total * std::exp(b.top - a.top))};
  }
  static T finish(Acc a, int64_t /*count*/) { return from_real<T>(std::log(a.total) + a.top); }
  /// Finds the largest element of the row first; if it is not finite, accumulates element by
  /// element.
  static Acc row(const float* x, int64_t count) requires std::is_same_v<T, float> {
    Acc acc = {simd::largest(x, count), 0.0F};
    if (!std::isfinite(acc.top)) {
      acc = start();
      for (int64_t i = 0; i < count; ++i) acc = fold(acc, x[i]);
      return acc;
    }
    // In blocks, so that sums of long rows lose little precision.
    constexpr int64_t kBlock = 1024;
    for (int64_t i = 0; i < count; i += kBlock)
      acc.total += simd::sum_exp(x + i, std::min(kBlock, count - i), acc.top);
    return acc;
  }
};

template <class Op, class T>
concept HasRow = requires(const T* x) {
  Op::row(x, int64_t{1});
};

/// Reduces a row. Sixteen accumulators allow vectorization and keep rounding errors small.
template <class Op, class T>
typename Op::Acc fold_row(const T* x, int64_t count) {
  using Acc = typename Op::Acc;
  if constexpr (HasRow<Op, T>) return Op::row(x, count);
  constexpr int kLanes = 16;
  Acc total = Op::start();
  int64_t i = 0;
  if (count >= 4 * kLanes) {
    Acc lanes[kLanes];
    std::fill_n(lanes, kLanes, Op::start());
    for (; i + kLanes <= count; i += kLanes) {
      for (int k = 0; k < kLanes; ++k)
        lanes[k] = Op::fold(lanes[k], static_cast<Compute<T>>(x[i + k]));
    }
    for (int k = 0; k < kLanes; ++k) total = Op::join(total, lanes[k]);
  }
  for (; i < count; ++i) total = Op::fold(total, static_cast<Compute<T>>(x[i]));
  return total;
}

/// Iterates over a set of axes and tracks the element offset.
struct Axes {
  int count = 0;
  int64_t extents[kMaxRank];
  int64_t strides[kMaxRank];

  void push(int64_t extent, int64_t stride) {
    extents[count] = extent;
    strides[count++] = stride;
  }
  [[nodiscard]] int64_t position_count() const {
    int64_t product = 1;
    for (int i = 0; i < count; ++i) product *= extents[i];
    return product;
  }
};
class Walk {
 public:
  explicit Walk(const Axes& axes, int64_t position = 0) : axes_(axes) {
    for (int i = axes.count - 1; i >= 0; --i) {
      index_[i] = position % axes.extents[i];
      position /= axes.extents[i];
      offset_ += index_[i] * axes.strides[i];
    }
  }
  [[nodiscard]] int64_t offset() const { return offset_; }
  void next() {
    for (int i = axes_.count - 1; i >= 0; --i) {
      offset_ += axes_.strides[i];
      if (++index_[i] < axes_.extents[i]) return;
      offset_ -= axes_.strides[i] * axes_.extents[i];
      index_[i] = 0;
    }
  }

 private:
  const Axes& axes_;
  int64_t offset_ = 0;
  int64_t index_[kMaxRank];
};

/// The reduction of one run. The innermost axis, of `row` elements, is separate from `kept` and
/// `reduced`.
struct Plan {
  Dims shape;    ///< of the output
  Axes kept;     ///< axes that are not reduced, without the innermost
  Axes reduced;  ///< axes that are reduced, without the innermost
  int64_t row = 1;
  bool reduces_row = true;
  int64_t reduced_count = 1;
};

template <template <class> class Op, class Types>
class Reduce final : public NodeKernel {
 public:
  /// `axes`: the attribute of older versions. `reads_axes`: the version has axes as input 1.
  Reduce(const sdk::NodeView& node, std::vector<int64_t> axes, bool reads_axes)
      : NodeKernel(node),
        axes_(std::move(axes)),
        reads_axes_(reads_axes),
        keeps_dims_(node.get_int("keepdims", 1) == 1),
        is_noop_when_empty_(reads_axes && node.get_int("noop_with_empty_axes", 0) != 0) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    bool is_reduced[kMaxRank];
    mark_axes(call, x.rank, is_reduced);
    Plan plan;
    make_plan(x, is_reduced, plan);
    const int64_t outputs = count_of(plan.shape.shape());
    const uint32_t dtype = call.input(0).dtype;
    gantry_tensor& output = call.output(0, dtype, plan.shape.shape());
    if (outputs == 0) return;
    dispatch<Types>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      const auto* source = static_cast<const T*>(call.input(0).data);
      auto* target = static_cast<T*>(output.data);
      if (plan.reduced_count == 0) {
        std::fill_n(target, outputs, Op<T>::finish(Op<T>::start(), 0));
      } else if (plan.reduces_row) {
        fold_rows(call, plan, outputs, source, target);
      } else {
        fold_columns(call, plan, source, target);
      }
    });
  }

 private:
  void mark_axes(sdk::Call& call, int rank, bool (&is_reduced)[kMaxRank]) const {
    check_rank(rank, label());
    std::fill_n(is_reduced, rank, false);
    Dims given;
    if (reads_axes_ && call.has_input(1)) {
      given = read_ints(call, 1);
    } else {
      given.resize(static_cast<int64_t>(axes_.size()));
      std::copy(axes_.begin(), axes_.end(), given.data());
    }
    if (given.rank() == 0 && !is_noop_when_empty_) std::fill_n(is_reduced, rank, true);
    for (int i = 0; i < given.rank(); ++i) is_reduced[checked_axis(given[i], rank)] = true;
  }

  void make_plan(sdk::Shape x, const bool* is_reduced, Plan& plan) const {
    bool is_empty = false;
    for (int i = 0; i < x.rank; ++i) {
      is_empty = is_empty || x[i] == 0;
      if (!is_reduced[i]) {
        plan.shape.push(x[i]);
      } else {
        if (x[i] == 0) plan.reduced_count = 0;
        if (keeps_dims_) plan.shape.push(1);
      }
    }
    if (is_empty) return;
    // From the innermost axis on, merging neighbours of one kind.
    int64_t stride = 1;
    bool has_row = false;
    for (int i = x.rank - 1; i >= 0; --i) {
      if (x[i] == 1) continue;
      int64_t extent = x[i];
      const bool reduces = is_reduced[i];
      while (i > 0 && (x[i - 1] == 1 || is_reduced[i - 1] == reduces)) extent *= x[--i];
      if (reduces) plan.reduced_count *= extent;
      if (!has_row) {
        plan.row = extent;
        plan.reduces_row = reduces;
        has_row = true;
      } else {
        (reduces ? plan.reduced : plan.kept).push(extent, stride);
      }
      stride *= extent;
    }
    reverse(plan.kept);
    reverse(plan.reduced);
  }
  static void reverse(Axes& axes) {
    std::reverse(axes.extents, axes.extents + axes.count);
    std::reverse(axes.strides, axes.strides + axes.count);
  }

  template <class T>
  static void fold_rows(sdk::Call& call, const Plan& plan, int64_t outputs, const T* x, T* y) {
    const int64_t rows = plan.reduced.position_count();
    const int64_t grain = std::max<int64_t>(1, kReduceGrain / plan.reduced_count);
    call.parallel_for(outputs, grain, [&](int64_t begin, int64_t end) {
      Walk kept_walk(plan.kept, begin);
      for (int64_t i = begin; i < end; ++i, kept_walk.next()) {
        auto total = Op<T>::start();
        Walk row(plan.reduced);
        for (int64_t r = 0; r < rows; ++r, row.next()) {
          total =
              Op<T>::join(total, fold_row<Op<T>>(x + kept_walk.offset() + row.offset(), plan.row));
        }
        y[i] = Op<T>::finish(total, plan.reduced_count);
      }
    });
  }

  template <class T>
  static void fold_columns(sdk::Call& call, const Plan& plan, const T* x, T* y) {
    const int64_t rows = plan.reduced.position_count();
    // Wide blocks read fastest, but every thread needs one.
    const int64_t width = std::clamp<int64_t>(plan.row / call.thread_count(), 128, kReducedColumns);
    const int64_t blocks = (plan.row + width - 1) / width;
    const int64_t grain =
        std::max<int64_t>(1, kReduceGrain / (plan.reduced_count * std::min(width, plan.row)));
    call.parallel_for(plan.kept.position_count() * blocks, grain, [&](int64_t begin, int64_t end) {
      typename Op<T>::Acc totals[kReducedColumns];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * width;
        const int64_t count = std::min(width, plan.row - first);
        const T* base = x + Walk(plan.kept, i / blocks).offset() + first;
        std::fill_n(totals, count, Op<T>::start());
        Walk row(plan.reduced);
        for (int64_t r = 0; r < rows; ++r, row.next()) {
          const T* source = base + row.offset();
          for (int64_t k = 0; k < count; ++k)
            totals[k] = Op<T>::fold(totals[k], static_cast<Compute<T>>(source[k]));
        }
        T* target = y + i / blocks * plan.row + first;
        for (int64_t k = 0; k < count; ++k)
          target[k] = Op<T>::finish(totals[k], plan.reduced_count);
      }
    });
  }

  std::vector<int64_t> axes_;
  bool reads_axes_;
  bool keeps_dims_;
  bool is_noop_when_empty_;
};

using ReducedTypes = Concat<FloatTypes, TypeList<int32_t, int64_t, uint32_t, uint64_t>>;
using OrderedTypes = Concat<ReducedTypes, TypeList<int8_t, uint8_t, Boolean>>;

template <template <class> class Op, class Types>
std::unique_ptr<sdk::Kernel> by_attribute(const sdk::NodeView& node) {
  return std::make_unique<Reduce<Op, Types>>(node, node.get_ints("axes"), false);
}
template <template <class> class Op, class Types>
std::unique_ptr<sdk::Kernel> by_input(const sdk::NodeView& node) {
  return std::make_unique<Reduce<Op, Types>>(node, std::vector<int64_t>(), true);
}

constexpr sdk::DTypeSet kReduced = dtype_set(ReducedTypes{});
constexpr sdk::DTypeSet kOrdered = kReduced | sdk::dtypes(GANTRY_INT8, GANTRY_UINT8);
constexpr sdk::Marks kAxes = {.signature_inputs = 2};

constexpr sdk::KernelRow kReduceRows[] = {
    {"ReduceSum", 1, 12, kReduced, by_attribute<SumOp, ReducedTypes>},
    {"ReduceSum", 13, sdk::kLatest, kReduced, by_input<SumOp, ReducedTypes>, kAxes},
    {"ReduceMean", 1, 17, kReduced, by_attribute<MeanOp, ReducedTypes>},
    {"ReduceMean", 18, sdk::kLatest, kReduced, by_input<MeanOp, ReducedTypes>, kAxes},
    {"ReduceMax", 1, 17, kOrdered, by_attribute<MaxOp, OrderedTypes>},
    {"ReduceMax", 18, sdk::kLatest, kOrdered | sdk::kBool, by_input<MaxOp, OrderedTypes>, kAxes},
    {"ReduceMin", 1, 17, kOrdered, by_attribute<MinOp, OrderedTypes>},
    {"ReduceMin", 18, sdk::kLatest, kOrdered | sdk::kBool, by_input<MinOp, OrderedTypes>, kAxes},
    {"ReduceProd", 1, 17, kReduced, by_attribute<ProdOp, ReducedTypes>},
    {"ReduceProd", 18, sdk::kLatest, kReduced, by_input<ProdOp, ReducedTypes>, kAxes},
    {"ReduceL1", 1, 17, kReduced, by_attribute<L1Op, ReducedTypes>},
    {"ReduceL1", 18, sdk::kLatest, kReduced, by_input<L1Op, ReducedTypes>, kAxes},
    {"ReduceL2", 1, 17, kReduced, by_attribute<L2Op, ReducedTypes>},
    {"ReduceL2", 18, sdk::kLatest, kReduced, by_input<L2Op, ReducedTypes>, kAxes},
    {"ReduceLogSum", 1, 17, kReduced, by_attribute<LogSumOp, ReducedTypes>},
    {"ReduceLogSum", 18, sdk::kLatest, kReduced, by_input<LogSumOp, ReducedTypes>, kAxes},
    {"ReduceLogSumExp", 1, 17, kReduced, by_attribute<LogSumExpOp, ReducedTypes>},
    {"ReduceLogSumExp", 18, sdk::kLatest, kReduced, by_input<LogSumExpOp, ReducedTypes>, kAxes},
    {"ReduceSumSquare", 1, 17, kReduced, by_attribute<SumSquareOp, ReducedTypes>},
    {"ReduceSumSquare", 18, sdk::kLatest, kReduced, by_input<SumSquareOp, ReducedTypes>, kAxes},
};

}  // namespace

sdk::KernelTable reduce_kernels() { return sdk::table(kReduceRows); }

}  // namespace gantry::cpu
