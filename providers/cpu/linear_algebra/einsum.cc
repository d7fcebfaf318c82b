// SPDX-License-Identifier: Apache-2.0
// Einsum (opset 12): operands are contracted pairwise, from left to right. Each contraction sums
// over labels that no later term uses, arranges the operands as [batch, rows, inner] and [batch,
// inner, columns], and runs batched GEMM. 16-bit floats are computed in f32, narrow integers in 32
// bits.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "convert.h"
#include "dims.h"
#include "dispatch.h"
#include "families.h"
#include "linear_algebra/blas.h"
#include "linear_algebra/einsum_equation.h"
#include "node_kernel.h"
#include "simd/vector_math.h"
#include "tensor/strided_copy.h"

namespace gantry::cpu {
namespace {

/// A tensor with a label, an extent and a stride for each axis, on the stack.
struct View {
  int rank = 0;
  int label[kMaxRank];
  int64_t extent[kMaxRank];
  int64_t stride[kMaxRank];
  const void* data = nullptr;

  void push(int name, int64_t size, int64_t step) {
    if (rank == kMaxRank) {
      throw sdk::Error(GANTRY_UNSUPPORTED, "an Einsum of more than " + std::to_string(kMaxRank) +
                                               " axes is not supported");
    }
    label[rank] = name;
    extent[rank] = size;
    stride[rank++] = step;
  }
  [[nodiscard]] int find(int name) const {
    for (int i = 0; i < rank; ++i) {
      if (label[i] == name) return i;
    }
    return -1;
  }
  [[nodiscard]] int64_t count() const {
    int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= extent[i];
    return product;
  }
};

template <class T>
using EinsumCompute =
    std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4,
                       std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>, Compute<T>>;

/// The output's memory and axis order, so that the last contraction can write it directly.
struct Final {
  const int* labels;
  int rank;
  void* memory;

  [[nodiscard]] bool takes(const View& view) const {
    return view.rank == rank && std::equal(labels, labels + rank, view.label);
  }
};

/// The contractions of one run.
template <class C>
class Joiner {
 public:
  explicit Joiner(sdk::Call& call) : call_(call) {}

  /// From now on, a contraction whose result has the axes of the output writes to the output.
  void set_final(const Final* final) { final_ = final; }

  /// `view` as a dense tensor with its axes in the order `order`, a permutation of its labels.
  View arranged(const View& view, const int* order, int rank) const {
    View result;
    int64_t strides[kMaxRank];
    bool is_dense = true;
    for (int i = 0; i < rank; ++i) {
      const int at = view.find(order[i]);
      result.push(order[i], view.extent[at], 0);
      strides[i] = view.stride[at];
    }
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; --i) {
      result.stride[i] = step;
      is_dense &= strides[i] == step || result.extent[i] == 1;
      step *= result.extent[i];
    }
    if (is_dense) {
      result.data = view.data;
      return result;
    }
    auto* data = call_.scratch<C>(result.count());
    if (result.count() > 0) {
      copy_strided(call_, sizeof(C), {result.extent, rank}, view.data, strides, data,
                   result.stride);
    }
    result.data = data;
    return result;
  }

  /// Sums over the axes for whose label `keeps` is false.
  template <class Keeps>
  View summed(const View& view, Keeps keeps) const {
    int order[kMaxRank];
    int kept = 0;
    for (int i = 0; i < view.rank; ++i) {
      if (keeps(view.label[i])) order[kept++] = view.label[i];
    }
    if (kept == view.rank) return view;
    if (kept == view.rank - 1 && is_dense(view) && keeps(view.label[view.rank - 1]))
      return summed_rows(view, keeps);
    int used = kept;
    for (int i = 0; i < view.rank; ++i) {
      if (!keeps(view.label[i])) order[used++] = view.label[i];
    }
    View dense = arranged(view, order, used);
    int64_t inner = 1;
    for (int i = kept; i < used; ++i) inner *= dense.extent[i];
    dense.rank = kept;
    for (int64_t i = kept - 1, step = 1; i >= 0; step *= dense.extent[i--]) dense.stride[i] = step;
    const int64_t rows = dense.count();
    const auto* source = static_cast<const C*>(dense.data);
    auto* target = call_.scratch<C>(rows);
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(inner, 1));
    call_.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        C sum = C{0};
        for (int64_t i = 0; i < inner; ++i) sum += source[row * inner + i];
        target[row] = sum;
      }
    });
    dense.data = target;
    return dense;
  }

  /// The product of two views, summed over the shared labels for which `keeps` is false.
  template <class Keeps>
  View joined(const View& a, const View& b, Keeps keeps) const {
    int shared[kMaxRank];
    int inner[kMaxRank];
    int shared_count = 0;
    int inner_count = 0;
    for (int i = 0; i < a.rank; ++i) {
      if (b.find(a.label[i]) < 0) continue;
      if (keeps(a.label[i])) {
        shared[shared_count++] = a.label[i];
      } else {
        inner[inner_count++] = a.label[i];
      }
    }
    View result;
    for (int i = 0; i < shared_count; ++i) result.push(shared[i], a.extent[a.find(shared[i])], 0);
    int order_a[kMaxRank];
    int order_b[kMaxRank];
    std::copy_n(shared, shared_count, order_a);
    std::copy_n(shared, shared_count, order_b);
    int rank_a = shared_count;
    int rank_b = shared_count;
    std::copy_n(inner, inner_count, order_b + rank_b);
    rank_b += inner_count;
    Extents e;
    for (int i = 0; i < shared_count; ++i) e.batch *= result.extent[i];
    for (int i = 0; i < a.rank; ++i) {
      if (b.find(a.label[i]) >= 0) continue;
      result.push(a.label[i], a.extent[i], 0);
      order_a[rank_a++] = a.label[i];
      e.m *= a.extent[i];
    }
    for (int i = 0; i < inner_count; ++i) {
      order_a[rank_a++] = inner[i];
      e.k *= a.extent[a.find(inner[i])];
    }
    for (int i = 0; i < b.rank; ++i) {
      if (a.find(b.label[i]) >= 0) continue;
      result.push(b.label[i], b.extent[i], 0);
      order_b[rank_b++] = b.label[i];
      e.n *= b.extent[i];
    }
    for (int64_t i = result.rank - 1, step = 1; i >= 0; step *= result.extent[i--])
      result.stride[i] = step;
    const auto* left = static_cast<const C*>(arranged(a, order_a, rank_a).data);
    const auto* right = static_cast<const C*>(arranged(b, order_b, rank_b).data);
    const int64_t count = checked_count(result.extent, result.rank, "Einsum");
    C* target =
        final_ && final_->takes(result) ? static_cast<C*>(final_->memory) : call_.scratch<C>(count);
    batched_gemm(e, left, right, target);
    result.data = target;
    return result;
  }

 private:
  static bool is_dense(const View& view) {
    int64_t step = 1;
    for (int i = view.rank - 1; i >= 0; step *= view.extent[i--]) {
      if (view.stride[i] != step && view.extent[i] != 1) return false;
    }
    return true;
  }

  /// Sums a dense view over the one axis for which `keeps` is false and which is not the last, by
  /// adding rows.
  template <class Keeps>
  View summed_rows(const View& view, Keeps keeps) const {
    View result;
    int64_t outer = 1;
    int64_t extent = 1;
    int64_t inner = 1;
    for (int i = 0, is_past = 0; i < view.rank; ++i) {
      if (!keeps(view.label[i])) {
        extent = view.extent[i];
        is_past = 1;
        continue;
      }
      (is_past ? inner : outer) *= view.extent[i];
      result.push(view.label[i], view.extent[i], 0);
    }
    for (int64_t i = result.rank - 1, step = 1; i >= 0; step *= result.extent[i--])
      result.stride[i] = step;
    const auto* source = static_cast<const C*>(view.data);
    auto* target = call_.scratch<C>(outer * inner);
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(extent * inner, 1));
    call_.parallel_for(outer, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        C* sums = target + i * inner;
        std::fill_n(sums, inner, C{0});
        for (int64_t k = 0; k < extent; ++k)
          add_row(source + (i * extent + k) * inner, sums, inner);
      }
    });
    result.data = target;
    return result;
  }
  static void add_row(const C* x, C* sums, int64_t count) {
    if constexpr (std::is_same_v<C, float>) {
      simd::add(sums, 1, x, 1, sums, count);
    } else {
      for (int64_t i = 0; i < count; ++i) sums[i] += x[i];
    }
  }

  struct Extents {
    int64_t batch = 1;
    int64_t m = 1;
    int64_t k = 1;
    int64_t n = 1;
  };

  void batched_gemm(const Extents& e, const C* a, const C* b, C* y) const {
    if (e.batch * e.m * e.n == 0) return;
    check_gemm(e.m, e.n, e.k, "Einsum");
    if (e.k == 1 && e.n > 1) return outer_product(e, a, b, y);
    const int64_t work = e.m * e.n * std::max<int64_t>(e.k, 1);
    if (e.batch == 1 || (work >= 2 * kGemmGrain && e.batch < call_.thread_count())) {
      for (int64_t i = 0; i < e.batch; ++i) gemm(call_, gemm_args(e, a, b, y, i));
      return;
    }
    // For a few elements a plain loop is faster than a call of BLAS.
    const bool is_tiny = work <= 64;
    const int64_t grain = std::max<int64_t>(1, (is_tiny ? 32768 : kGemmGrain) / work);
    call_.parallel_for(e.batch, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (is_tiny) {
          tiny_gemm(e, a + i * e.m * e.k, b + i * e.k * e.n, y + i * e.m * e.n);
        } else {
          gemm_serial(gemm_args(e, a, b, y, i));
        }
      }
    });
  }
  /// Nothing is summed: each row of the result is a row of `b` times an element of `a`.
  void outer_product(const Extents& e, const C* a, const C* b, C* y) const {
    const int64_t grain = std::max<int64_t>(1, 16384 / e.n);
    call_.parallel_for(e.batch * e.m, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const C* from = b + row / e.m * e.n;
        if constexpr (std::is_same_v<C, float>) {
          simd::mul(a + row, 0, from, 1, y + row * e.n, e.n);
        } else {
          for (int64_t i = 0; i < e.n; ++i) y[row * e.n + i] = a[row] * from[i];
        }
      }
    });
  }
  static GemmArgs<C> gemm_args(const Extents& e, const C* a, const C* b, C* y, int64_t i) {
    return dense_gemm<C>(e.m, e.n, e.k, a + i * e.m * e.k, b + i * e.k * e.n, y + i * e.m * e.n);
  }
  static void tiny_gemm(const Extents& e, const C* a, const C* b, C* y) {
    for (int64_t row = 0; row < e.m; ++row) {
      for (int64_t column = 0; column < e.n; ++column) {
        C sum = C{0};
        for (int64_t i = 0; i < e.k; ++i) sum += a[row * e.k + i] * b[i * e.n + column];
        y[row * e.n + column] = sum;
      }
    }
  }

  sdk::Call& call_;
  const Final* final_ = nullptr;
};

class Einsum final : public NodeKernel {
 public:
  explicit Einsum(const sdk::NodeView& node) : NodeKernel(node), equation_(node) {}

  void run(sdk::Call& call) const override {
    const uint32_t dtype = call.input(0).dtype;
    for (int slot = 1; slot < call.input_count(); ++slot) {
      if (call.input(slot).dtype != dtype) fail("the inputs must have one element type");
    }
    // Extent of each label, 1 unless an input has a larger one; and the number of ellipsis axes.
    int64_t extents[kLabels];
    std::fill_n(extents, kLabels, int64_t{-1});
    const int spread = measure(call, extents);
    Labels unused;
    Dims shape;
    int output[kMaxRank];
    int rank = 0;
    const auto push = [&](int label) {
      shape.push(extents[label]);
      output[rank++] = label;
    };
    for (const int label : equation_.output) {
      if (label != kEllipsis) push(label);
      for (int i = spread - 1; label == kEllipsis && i >= 0; --i) push(kLetters + i);
    }
    gantry_tensor& target = call.output(0, dtype, shape.shape());
    if (count_of(shape.shape()) == 0) return;
    dispatch<NumberTypes>(dtype, [&](auto type) {
      compute<typename decltype(type)::type>(call, extents, output, rank, target);
    });
  }

 private:
  /// Label of each axis of an input; the ellipsis takes the axes without a letter.
  void axis_labels(const Labels& term, sdk::Shape shape, int slot, int* labels) const {
    const bool has_ellipsis = std::find(term.begin(), term.end(), kEllipsis) != term.end();
    const int letters = static_cast<int>(term.size()) - (has_ellipsis ? 1 : 0);
    const int spread = shape.rank - letters;
    if (spread < 0 || (spread > 0 && !has_ellipsis) || shape.rank > kMaxRank) {
      fail("input " + std::to_string(slot) + " has shape " + to_string(shape) +
           ", but its term in the equation names " + std::to_string(letters) + " axes");
    }
    int axis = 0;
    for (const int label : term) {
      if (label != kEllipsis) labels[axis++] = label;
      for (int i = spread - 1; label == kEllipsis && i >= 0; --i) labels[axis++] = kLetters + i;
    }
  }

  /// Number of axes that ellipses stand for.
  int measure(sdk::Call& call, int64_t* extents) const {
    int spread = 0;
    for (int slot = 0; slot < call.input_count(); ++slot) {
      const sdk::Shape shape = call.shape(slot);
      int labels[kMaxRank];
      axis_labels(equation_.terms[static_cast<size_t>(slot)], shape, slot, labels);
      for (int i = 0; i < shape.rank; ++i) {
        int64_t& extent = extents[labels[i]];
        if (labels[i] >= kLetters) spread = std::max(spread, labels[i] - kLetters + 1);
        if (extent == -1 || extent == 1) {
          extent = shape[i];
        } else if (shape[i] != extent && shape[i] != 1) {
          fail("axis " + std::to_string(i) + " of input " + std::to_string(slot) + " has extent " +
               std::to_string(shape[i]) + ", but its letter stands for " + std::to_string(extent));
        }
      }
    }
    return spread;
  }

  /// An input as a view with one axis for each label. A repeated label selects the diagonal; an
  /// extent of 1 is broadcast.
  View view_of(sdk::Call& call, int slot, const int64_t* extents, const void* data) const {
    const sdk::Shape shape = call.shape(slot);
    int labels[kMaxRank];
    axis_labels(equation_.terms[static_cast<size_t>(slot)], shape, slot, labels);
    const Dims strides = dense_strides(shape);
    View view;
    view.data = data;
    for (int i = 0; i < shape.rank; ++i) {
      const int64_t stride = shape[i] == 1 ? 0 : strides[i];
      const int at = view.find(labels[i]);
      if (at >= 0) {
        view.stride[at] += stride;
      } else {
        view.push(labels[i], extents[labels[i]], stride);
      }
    }
    return view;
  }

  template <class T>
  void compute(sdk::Call& call, const int64_t* extents, const int* output, int rank,
               gantry_tensor& target) const {
    using C = EinsumCompute<T>;
    const int count = call.input_count();
    // Number of remaining terms, including the output, that use each label.
    int uses[kLabels] = {};
    for (int i = 0; i < rank; ++i) ++uses[output[i]];
    for (int slot = 0; slot < count; ++slot)
      count_uses(view_of(call, slot, extents, nullptr), uses, 1);
    Joiner<C> joiner(call);
    const Final final = {output, rank, target.data};
    const auto keeps = [&](int label) { return uses[label] > 0; };
    View result;
    for (int slot = 0; slot < count; ++slot) {
      View next = view_of(call, slot, extents, converted<T, C>(call, slot));
      count_uses(next, uses, -1);
      if (slot == 0) {
        result = joiner.summed(next, keeps);
        continue;
      }
      next =
          joiner.summed(next, [&](int label) { return keeps(label) || result.find(label) >= 0; });
      result =
          joiner.summed(result, [&](int label) { return keeps(label) || next.find(label) >= 0; });
      if (std::is_same_v<T, C> && slot == count - 1) joiner.set_final(&final);
      result = joiner.joined(result, next, keeps);
    }
    const View dense = joiner.arranged(result, output, rank);
    if (dense.data == target.data) return;
    const auto* source = static_cast<const C*>(dense.data);
    auto* y = static_cast<T*>(target.data);
    call.parallel_for(dense.count(), 32768, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(source[i]);
    });
  }
  static void count_uses(const View& view, int* uses, int step) {
    for (int i = 0; i < view.rank; ++i) uses[view.label[i]] += step;
  }

  template <class T, class C>
  static const C* converted(sdk::Call& call, int slot) {
    if constexpr (std::is_same_v<C, Compute<T>>) {
      return widened<T>(call, call.input(slot));
    } else {
      return read_as<TypeList<T>, C>(call, slot);
    }
  }

  Equation equation_;
};

constexpr sdk::KernelRow kEinsumRows[] = {
    {"Einsum", 12, sdk::kLatest, sdk::kNumbers, sdk::make<Einsum>},
};

}  // namespace

sdk::KernelTable einsum_kernels() { return sdk::table(kEinsumRows); }

}  // namespace gantry::cpu
