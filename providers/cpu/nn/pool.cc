// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool and LpPool over any number of spatial axes. For each output line the input
// rows of its windows are reduced first, then the columns of each window: for f32 with SIMD
// (pool_math.h), for other types here. MaxPool with indices reduces each window separately, except
// for f32 with two spatial axes (pool_indices.h).
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "dispatch.h"
#include "families.h"
#include "nn/pool_indices.h"
#include "nn/pool_math.h"
#include "nn/pool_operators.h"
#include "nn/window.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Least work for a thread: input elements times kernel elements.
constexpr int64_t kPoolGrain = 65536;

/// Output and kernel extents of all spatial axes but the innermost, as Odometer takes them.
struct OuterAxes {
  explicit OuterAxes(const Window& window) : rank(window.rank() - 1) {
    for (int i = 0; i < rank; ++i) {
      outputs[i] = window[i].output;
      kernels[i] = window[i].kernel;
    }
  }
  int rank;
  int64_t outputs[kMaxWindowAxes];
  int64_t kernels[kMaxWindowAxes];
};

class PoolKernel : public NodeKernel {
 public:
  explicit PoolKernel(const sdk::NodeView& node) : NodeKernel(node), attributes_(node) {
    if (attributes_.kernel.empty())
      node.fail(GANTRY_INVALID_MODEL, "attribute kernel_shape is missing");
  }

 protected:
  /// The windows and the output shape of one run.
  struct Plan {
    Window window;
    Dims shape;
    int64_t planes;
    int64_t in_plane;
    int64_t out_plane;
    bool is_empty;
  };
  [[nodiscard]] Plan plan(sdk::Call& call) const {
    const sdk::Shape x = call.shape(0);
    if (static_cast<int>(attributes_.kernel.size()) != x.rank - 2) {
      fail("attribute kernel_shape has " + std::to_string(attributes_.kernel.size()) +
           " numbers, which does not fit input shape " + to_string(x));
    }
    Plan plan;
    plan.window = Window::sliding(attributes_, x, attributes_.kernel.data(), label());
    plan.shape.push(x[0]);
    plan.shape.push(x[1]);
    for (int i = 0; i < plan.window.rank(); ++i) plan.shape.push(plan.window[i].output);
    plan.is_empty = count_of(plan.shape.shape()) == 0;
    if (plan.is_empty) return plan;
    plan.planes = x[0] * x[1];
    plan.in_plane = count_of({x.data + 2, x.rank - 2});
    plan.out_plane = plan.window.output_count();
    return plan;
  }
  /// Work of one output line; saturates.
  static int64_t line_work(const Window& window) {
    const WindowAxis& inner = window[window.rank() - 1];
    int64_t taps = 1;
    for (int i = 0; i < window.rank(); ++i) {
      taps = std::min<int64_t>(kPoolGrain, taps * std::min(window[i].kernel, window[i].input + 1));
    }
    return std::min<int64_t>(kPoolGrain, inner.input + inner.output) * taps;
  }

  WindowAttributes attributes_;
};

/// A pool with a reduction of pool_operators.h.
template <class Op>
class Pool : public PoolKernel {
 public:
  explicit Pool(const sdk::NodeView& node)
      : PoolKernel(node), op_(node), counts_pads_(node.get_int("count_include_pad", 0) != 0) {}

  void run(sdk::Call& call) const override { run_values(call); }

 protected:
  void run_values(sdk::Call& call) const {
    const auto plan = this->plan(call);
    const uint32_t dtype = call.input(0).dtype;
    gantry_tensor& output = call.output(0, dtype, plan.shape.shape());
    if (plan.is_empty) return;
    dispatch<typename Op::Types>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* y = static_cast<T*>(output.data);
      if constexpr (std::is_same_v<T, float>) {
        if (pool_in_vectors(call, plan, y)) return;
      }
      pool(call, plan, call.data<T>(0), y);
    });
  }

 private:
  /// Pools with pool_math.h. Returns false, and does nothing, if the reduction or the windows are
  /// not supported there.
  bool pool_in_vectors(sdk::Call& call, const Plan& plan, float* y) const {
    const std::optional<simd::Reduction> reduction = op_.reduction();
    const OuterAxes outer(plan.window);
    const WindowAxis& inner = plan.window[outer.rank];
    simd::PlaneWindows windows = {};
    windows.lines = plan.window.output_count(0, outer.rank);
    windows.columns = inner.output;
    windows.width = inner.input;
    windows.pad = inner.pad_begin;
    windows.taps = inner.kernel;
    windows.stride = inner.output == 1 ? 1 : inner.stride;
    windows.dilation = inner.dilation;
    const int64_t rows = most_rows(plan.window, outer.rank, windows.lines);
    // Wide padding or long row lists are faster without SIMD.
    if (!reduction || windows.stride > kMostStride || rows > kMostRows ||
        windows.reach() > 4 * windows.width + 64)
      return false;
    list_rows(call, plan.window, outer, rows, windows);
    const auto* x = call.data<float>(0);
    const float* x_end = x + plan.planes * plan.in_plane;
    const int64_t lines = plan.planes * windows.lines;
    const int64_t parts = part_count(call, plan.window, lines);
    const int64_t scratch = simd::joining_scratch(windows);
    auto* buffers = call.scratch<float>(parts * scratch);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      simd::reduce_windows(*reduction, windows, x, x_end, plan.in_plane, lines * begin / parts,
                           lines * end / parts, buffers + begin * scratch, y);
    });
    return true;
  }
  static constexpr int64_t kMostStride = 16;
  static constexpr int64_t kMostRows = int64_t{1} << 20;

  /// Upper bound of the length of the row list of a plane; saturates.
  static int64_t most_rows(const Window& window, int axes, int64_t lines) {
    int64_t rows = std::min(lines, kMostRows + 1);
    for (int i = 0; i < axes; ++i)
      rows = std::min(rows * std::min(window[i].kernel, window[i].input + 1), kMostRows + 1);
    return rows;
  }
  /// Fills the tables of `windows`. `rows`: most_rows().
  void list_rows(sdk::Call& call, const Window& window, const OuterAxes& outer, int64_t rows,
                 simd::PlaneWindows& windows) const {
    auto* offsets = call.scratch<int64_t>(rows);
    auto* ends = call.scratch<int64_t>(windows.lines);
    auto* row_counts = call.scratch<float>(windows.lines);
    auto* column_counts = call.scratch<float>(windows.columns + simd::kPoolSlack);
    int64_t end = 0;
    Odometer at(outer.outputs, outer.rank);
    for (int64_t line = 0; line < windows.lines; ++line, at.next()) {
      for_each_row(window, outer, at, [&](int64_t offset) { offsets[end++] = offset; });
      ends[line] = end;
      row_counts[line] = static_cast<float>(outer_count(window, outer.rank, at));
    }
    std::fill_n(column_counts, windows.columns + simd::kPoolSlack, 1.0F);
    for (int64_t o = 0; o < windows.columns; ++o)
      column_counts[o] = static_cast<float>(axis_count(window[outer.rank], o));
    windows.rows = offsets;
    windows.row_ends = ends;
    windows.row_counts = row_counts;
    windows.column_counts = column_counts;
  }

  static int64_t part_count(sdk::Call& call, const Window& window, int64_t lines) {
    const int64_t grain =
        std::max<int64_t>(1, kPoolGrain / std::max<int64_t>(line_work(window), 1));
    return std::clamp<int64_t>(lines / grain, 1, call.thread_count());
  }

  /// Calls visit(offset in the plane) for each input row of an output line.
  template <class Visit>
  static void for_each_row(const Window& window, const OuterAxes& outer, const Odometer& at,
                           Visit visit) {
    int64_t low[kMaxWindowAxes];
    int64_t taps[kMaxWindowAxes];
    int64_t total = 1;
    for (int i = 0; i < outer.rank; ++i) {
      low[i] = window[i].first_tap(at[i]);
      taps[i] = window[i].end_tap(at[i]) - low[i];
      if (taps[i] <= 0) return;
      total *= taps[i];
    }
    Odometer tap(taps, outer.rank);
    for (int64_t t = 0; t < total; ++t, tap.next()) {
      int64_t offset = 0;
      for (int i = 0; i < outer.rank; ++i) {
        offset = offset * window[i].input + window[i].start(at[i]) +
                 (low[i] + tap[i]) * window[i].dilation;
      }
      visit(offset * window[outer.rank].input);
    }
  }

  template <class T>
  void pool(sdk::Call& call, const Plan& plan, const T* x, T* y) const {
    using C = Compute<T>;
    const Window& window = plan.window;
    const OuterAxes outer(window);
    const WindowAxis& inner = window[outer.rank];
    const int64_t lines_per_plane = window.output_count(0, outer.rank);
    const int64_t lines = plan.planes * lines_per_plane;
    const int64_t width = inner.input;
    const int64_t parts = part_count(call, window, lines);
    C* rows = call.scratch<C>(parts * width);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      const int64_t first = lines * begin / parts;
      const int64_t last = lines * end / parts;
      Odometer at(outer.outputs, outer.rank, first % lines_per_plane);
      for (int64_t line = first; line < last; ++line, at.next()) {
        const T* plane = x + line / lines_per_plane * plan.in_plane;
        join_rows(window, outer, at, plane, rows + begin * width);
        const int64_t count = outer_count(window, outer.rank, at);
        reduce_columns(inner, rows + begin * width, count, y + line * inner.output);
      }
    });
  }

  /// row[i] = the reduction over the outer axes of column i.
  template <class T, class C>
  void join_rows(const Window& window, const OuterAxes& outer, const Odometer& at, const T* plane,
                 C* row) const {
    const int64_t width = window[outer.rank].input;
    std::fill_n(row, width, Op::template kStart<C>);
    for_each_row(window, outer, at, [&](int64_t offset) {
      const T* source = plane + offset;
      for (int64_t i = 0; i < width; ++i) {
        row[i] = op_.template combine<C>(row[i], op_.template map<C>(static_cast<C>(source[i])));
      }
    });
  }

  /// Divisor of a window along the outer axes (AveragePool).
  [[nodiscard]] int64_t outer_count(const Window& window, int axes, const Odometer& at) const {
    int64_t count = 1;
    for (int i = 0; i < axes; ++i) count *= axis_count(window[i], at[i]);
    return count;
  }
  [[nodiscard]] int64_t axis_count(const WindowAxis& axis, int64_t o) const {
    if (!counts_pads_) return std::max<int64_t>(axis.end_tap(o) - axis.first_tap(o), 0);
    // With ceil_mode the last window may reach beyond the padding, which does not count.
    return axis.end_tap(o, axis.input + axis.pad_end) - axis.first_tap(o, -axis.pad_begin);
  }

  template <class T, class C>
  void reduce_columns(const WindowAxis& axis, const C* row, int64_t outer_count, T* y) const {
    // Windows inside the row have all taps and need no bounds.
    const int64_t inside = axis.first_window(0);
    const int64_t end = std::max(inside, axis.end_window(axis.kernel - 1));
    for (int64_t o = 0; o < inside; ++o) join_window(axis, row, outer_count, o, y);
    if (end > inside)
      join_whole(axis, row + axis.start(inside), outer_count, y + inside, end - inside);
    for (int64_t o = end; o < axis.output; ++o) join_window(axis, row, outer_count, o, y);
  }
  /// Reduces `count` windows that have all taps; the first begins at `row`.
  template <class T, class C>
  void join_whole(const WindowAxis& axis, const C* row, int64_t outer_count, T* y,
                  int64_t count) const {
    const auto place = [&](auto taps) {
      for (int64_t o = 0; o < count; ++o) {
        const C* source = row + o * axis.stride;
        C reduced = *source;
        for (int64_t k = 1; k < taps; ++k)
          reduced = op_.template combine<C>(reduced, source[k * axis.dilation]);
        y[o] = static_cast<T>(op_.template finalize<C>(reduced, outer_count * taps));
      }
    };
    // Common kernel extents are unrolled.
    if (axis.kernel == 2) {
      place(std::integral_constant<int64_t, 2>{});
    } else if (axis.kernel == 3) {
      place(std::integral_constant<int64_t, 3>{});
    } else {
      place(axis.kernel);
    }
  }
  /// Reduces a window that may reach into the padding.
  template <class T, class C>
  void join_window(const WindowAxis& axis, const C* row, int64_t outer_count, int64_t o,
                   T* y) const {
    const int64_t high = axis.end_tap(o);
    C reduced = Op::template kStart<C>;
    for (int64_t k = axis.first_tap(o); k < high; ++k) {
      reduced = op_.template combine<C>(reduced, row[axis.start(o) + k * axis.dilation]);
    }
    y[o] = static_cast<T>(op_.template finalize<C>(reduced, outer_count * axis_count(axis, o)));
  }

  Op op_;
  bool counts_pads_;
};

class MaxPool final : public Pool<MaxOp> {
 public:
  explicit MaxPool(const sdk::NodeView& node)
      : Pool<MaxOp>(node), is_column_major_(node.get_int("storage_order", 0) != 0) {}

  void run(sdk::Call& call) const override {
    if (!call.wants(1)) return run_values(call);
    const Plan plan = this->plan(call);
    const uint32_t dtype = call.input(0).dtype;
    gantry_tensor& output = call.output(0, dtype, plan.shape.shape());
    auto* indices = static_cast<int64_t*>(call.output(1, GANTRY_INT64, plan.shape.shape()).data);
    if (plan.is_empty) return;
    dispatch<MaxOp::Types>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* y = static_cast<T*>(output.data);
      if constexpr (std::is_same_v<T, float>) {
        if (max_pool_2d_indices(call, plan, y, indices)) return;
      }
      find(call, plan, call.data<T>(0), y, indices);
    });
  }

 private:
  /// Pools with pool_indices.h. Returns false if there are not two spatial axes or a plane is too
  /// large.
  bool max_pool_2d_indices(sdk::Call& call, const Plan& plan, float* y, int64_t* indices) const {
    if (plan.window.rank() != 2 || plan.in_plane > std::numeric_limits<int32_t>::max())
      return false;
    const auto* x = call.data<float>(0);
    const Windows2d picture = {plan.window[0], plan.window[1], is_column_major_};
    const int64_t height = plan.window[0].output;
    const int64_t lines = plan.planes * height;
    const int64_t grain =
        std::max<int64_t>(1, kPoolGrain / 8 / std::max<int64_t>(line_work(plan.window), 1));
    const int64_t parts = std::clamp<int64_t>(lines / grain, 1, call.thread_count());
    const int64_t width = plan.window[1].input;
    auto* values = call.scratch<float>(parts * width);
    auto* maxima = call.scratch<int32_t>(parts * width);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t line = lines * begin / parts; line < lines * end / parts; ++line) {
        const int64_t plane = line / height * plan.in_plane;
        const int64_t to = line * plan.window[1].output;
        find_line(picture, x + plane, line % height,
                  {values + begin * width, maxima + begin * width}, y + to, indices + to);
        for (int64_t o = 0; o < plan.window[1].output; ++o) indices[to + o] += plane;
      }
    });
    return true;
  }

  template <class T>
  void find(sdk::Call& call, const Plan& plan, const T* x, T* y, int64_t* indices) const {
    const Window& window = plan.window;
    int64_t outputs[kMaxWindowAxes];
    for (int i = 0; i < window.rank(); ++i) outputs[i] = window[i].output;
    const int64_t grain =
        std::max<int64_t>(1, kPoolGrain / 8 / std::max<int64_t>(line_work(window), 1) *
                                 window[window.rank() - 1].output);
    call.parallel_for(plan.planes * plan.out_plane, grain, [&](int64_t begin, int64_t end) {
      Odometer at(outputs, window.rank(), begin % plan.out_plane);
      for (int64_t i = begin; i < end; ++i, at.next()) {
        const int64_t plane = i / plan.out_plane * plan.in_plane;
        find_in_window(window, at, x + plane, y[i], indices[i]);
        indices[i] += plane;
      }
    });
  }

  template <class T>
  void find_in_window(const Window& window, const Odometer& at, const T* plane, T& value,
                      int64_t& index) const {
    using C = Compute<T>;
    int64_t low[kMaxWindowAxes];
    int64_t taps[kMaxWindowAxes];
    int64_t total = 1;
    for (int i = 0; i < window.rank(); ++i) {
      low[i] = window[i].first_tap(at[i]);
      taps[i] = std::max<int64_t>(window[i].end_tap(at[i]) - low[i], 0);
      total *= taps[i];
    }
    C best = lowest<C>();
    index = 0;
    if (total == 0) {
      value = static_cast<T>(best);
      return;
    }
    const int last = window.rank() - 1;
    int64_t found = -1;
    Odometer tap(taps, last);
    for (int64_t t = 0; t < total / taps[last]; ++t, tap.next()) {
      int64_t line = 0;
      for (int i = 0; i < last; ++i) {
        line = line * window[i].input + window[i].start(at[i]) +
               (low[i] + tap[i]) * window[i].dilation;
      }
      line = line * window[last].input + window[last].start(at[last]) +
             low[last] * window[last].dilation;
      for (int64_t k = 0; k < taps[last]; ++k) {
        const int64_t offset = line + k * window[last].dilation;
        const C candidate = static_cast<C>(plane[offset]);
        // Without branches, which would be mispredicted. The first of equal elements stays, and so
        // does NaN.
        const bool is_better =
            (static_cast<int>(found < 0) | static_cast<int>(candidate > best) |
             (static_cast<int>(candidate != candidate) & static_cast<int>(best == best))) != 0;
        best = is_better ? candidate : best;
        found = is_better ? offset : found;
      }
    }
    index = is_column_major_ ? column_major(window, found) : found;
    value = static_cast<T>(best);
  }

  /// Converts an offset in a plane to column-major order.
  static int64_t column_major(const Window& window, int64_t offset) {
    int64_t index[kMaxWindowAxes];
    for (int i = window.rank() - 1; i >= 0; --i) {
      index[i] = offset % window[i].input;
      offset /= window[i].input;
    }
    int64_t result = 0;
    for (int i = window.rank() - 1; i >= 0; --i) result = result * window[i].input + index[i];
    return result;
  }

  bool is_column_major_;
};

constexpr sdk::DTypeSet kPooledBytes = sdk::dtypes(GANTRY_INT8, GANTRY_UINT8);

constexpr sdk::KernelRow kPoolRows[] = {
    {"MaxPool", 1, 11, sdk::kFloats, sdk::make<MaxPool>},
    {"MaxPool", 12, sdk::kLatest, sdk::kFloats | kPooledBytes, sdk::make<MaxPool>},
    {"AveragePool", 1, sdk::kLatest, sdk::kFloats, sdk::make<Pool<AverageOp>>},
    {"LpPool", 1, sdk::kLatest, sdk::kFloats, sdk::make<Pool<LpOp>>},
};

}  // namespace

sdk::KernelTable pool_kernels() { return sdk::table(kPoolRows); }

}  // namespace gantry::cpu
