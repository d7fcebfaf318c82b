// SPDX-License-Identifier: Apache-2.0
// Frames of element-wise kernels. An operator is a functor with a templated operator(), called with Compute<T>, that may also
// have a loop of its own over f32 arrays (`map`, `zip`); the frames bring types, broadcasting and threads. Immutable, any thread.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "broadcast.h"
#include "dispatch.h"
#include "kernels/vector_math.h"
#include "node_kernel.h"
#include "types.h"

namespace gantry::cpu {

/// Least number of elements for a second thread: some 5 µs of work each of plain arithmetic, vector functions, libm calls.
inline constexpr int64_t kPlainGrain = 32768;
inline constexpr int64_t kVectorGrain = 8192;
inline constexpr int64_t kLibmGrain = 1024;

/// Has its own loop from f32 to f32.
template <class Op>
concept HasMap = requires(const Op& op, const float* x, float* y, int64_t n) { op.map(x, y, n); };
/// Has its own loop over two f32 inputs, with strides of 0 or 1.
template <class Op>
concept HasZip = requires(const Op& op, const float* x, float* y, int64_t n) { op.zip(x, n, x, n, y, n); };

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// Grain of an operator on elements of type T; operators without a loop of their own say `kSlow` if they call libm.
template <class Op, class T>
constexpr int64_t grain_of() {
  if constexpr (HasMap<Op> && (std::is_same_v<T, float> || kIsHalf<T>)) return kVectorGrain;
  if constexpr (requires { Op::kSlow; }) return kLibmGrain;
  return kPlainGrain;
}

/// An operator made from its node if its constructor takes one.
template <class Op>
Op make_op(const sdk::NodeView& node) {
  if constexpr (std::is_constructible_v<Op, const sdk::NodeView&>) {
    return Op(node);
  } else {
    return Op();
  }
}

/// 16-bit floats to f32 and back, whole arrays at a time.
template <class T>
void widen_elements(const T* x, float* y, int64_t count) {
  if constexpr (std::is_same_v<T, Float16>) {
    simd::widen(reinterpret_cast<const uint16_t*>(x), y, count);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(x[i]);
  }
}
template <class T>
void narrow_elements(const float* x, T* y, int64_t count) {
  if constexpr (std::is_same_v<T, Float16>) {
    simd::narrow(x, reinterpret_cast<uint16_t*>(y), count);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(x[i]);
  }
}
/// Elements of 16-bit floats that are converted at a time.
inline constexpr int64_t kHalfBlock = 512;

/// y[i] = op(x[i]); y may be x.
template <class Op, class T, class U>
void map_elements(const Op& op, const T* x, U* y, int64_t count) {
  if constexpr (HasMap<Op> && std::is_same_v<T, float>) {
    op.map(x, y, count);
  } else if constexpr (kIsHalf<T>) {
    float block[kHalfBlock];
    for (int64_t begin = 0; begin < count; begin += kHalfBlock) {
      const int64_t n = std::min(kHalfBlock, count - begin);
      widen_elements(x + begin, block, n);
      if constexpr (kIsHalf<U>) {
        map_elements(op, block, block, n);
        narrow_elements(block, y + begin, n);
      } else {
        map_elements(op, block, y + begin, n);
      }
    }
  } else {
    // An output over its input is element by element, which is no dependence between iterations.
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<U>(op(static_cast<Compute<T>>(x[i])));
  }
}

/// y = op(x), same shape, same type unless `Out` is given.
template <class Op, class Types, class Out = void>
class Unary final : public NodeKernel {
 public:
  explicit Unary(const sdk::NodeView& node) : NodeKernel(node), op_(make_op<Op>(node)) {}

  void run(sdk::Call& call) const override {
    const gantry_tensor& x = call.input(0);
    const sdk::Shape shape(x);
    dispatch<Types>(x.dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      using U = std::conditional_t<std::is_void_v<Out>, T, Out>;
      const auto* source = static_cast<const T*>(x.data);
      auto* target = static_cast<U*>(call.output(0, kDType<U>, shape).data);
      call.parallel_for(shape.element_count(), grain_of<Op, T>(), [&](int64_t begin, int64_t end) {
        map_elements(op_, source + begin, target + begin, end - begin);
      });
    });
  }

 private:
  Op op_;
};

template <class Op, class A, class B, class U>
void zip_elements(const Op& op, const A* a, int64_t a_stride, const B* b, int64_t b_stride, U* y, int64_t count);

/// zip_elements of 16-bit floats, by blocks in f32.
template <class Op, class T, class U>
void zip_halves(const Op& op, const T* a, int64_t a_stride, const T* b, int64_t b_stride, U* y, int64_t count) {
  float a_block[kHalfBlock];
  float b_block[kHalfBlock];
  for (int64_t begin = 0; begin < count; begin += kHalfBlock) {
    const int64_t n = std::min(kHalfBlock, count - begin);
    widen_elements(a + begin * a_stride, a_block, a_stride ? n : 1);
    widen_elements(b + begin * b_stride, b_block, b_stride ? n : 1);
    if constexpr (kIsHalf<U>) {
      float y_block[kHalfBlock];
      zip_elements(op, a_block, a_stride, b_block, b_stride, y_block, n);
      narrow_elements(y_block, y + begin, n);
    } else {
      zip_elements(op, a_block, a_stride, b_block, b_stride, y + begin, n);
    }
  }
}

/// y[i] = op(a[i * a_stride], b[i * b_stride]), strides 0 or 1; y may be either input.
template <class Op, class A, class B, class U>
void zip_elements(const Op& op, const A* a, int64_t a_stride, const B* b, int64_t b_stride, U* y, int64_t count) {
  if constexpr (HasZip<Op> && std::is_same_v<A, float> && std::is_same_v<B, float>) {
    // Short rows cost more to set up than to compute.
    if (count >= 8) return op.zip(a, a_stride, b, b_stride, y, count);
  }
  if constexpr (kIsHalf<A> && std::is_same_v<A, B>) {
    if (count >= 8) return zip_halves(op, a, a_stride, b, b_stride, y, count);
  }
  using CA = Compute<A>;
  using CB = Compute<B>;
  if (a_stride && b_stride) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<U>(op(static_cast<CA>(a[i]), static_cast<CB>(b[i])));
  } else if (a_stride) {
    const auto scalar = static_cast<CB>(*b);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<U>(op(static_cast<CA>(a[i]), scalar));
  } else if (b_stride) {
    const auto scalar = static_cast<CA>(*a);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<U>(op(scalar, static_cast<CB>(b[i])));
  } else {
    std::fill(y, y + count, static_cast<U>(op(static_cast<CA>(*a), static_cast<CB>(*b))));
  }
}

/// How the second input lies on the first: by numpy's rule, or by the attributes `broadcast` and `axis` of versions below 7.
class Alignment {
 public:
  Alignment() = default;
  static Alignment from_axis(const sdk::NodeView& node) {
    Alignment result;
    result.is_numpy_ = false;
    result.is_exact_ = node.get_int("broadcast", 0) == 0;
    result.axis_ = node.get_int("axis", -1);
    return result;
  }
  /// A one-dimensional second input lies on the axis 1 (PRelu's channels below version 7).
  static Alignment from_channels() {
    Alignment result;
    result.is_numpy_ = false;
    result.is_channels_ = true;
    return result;
  }

  /// Shape of the second input under numpy's rule, with its extents in `extents` if it differs from `b`.
  sdk::Shape align(sdk::Shape a, sdk::Shape b, int64_t (&extents)[kMaxRank], const std::string& label) const {
    if (is_numpy_) return b;
    if (is_exact_ && a != b) fail(a, b, label, "must be equal, since attribute broadcast is not 1");
    const bool is_suffix = is_channels_ ? b.rank != 1 || a.rank < 2 || b[0] == 1 : axis_ == -1;
    const int64_t axis = is_suffix ? a.rank - b.rank : is_channels_ ? 1 : axis_;
    if (axis < 0 || axis > a.rank - b.rank) fail(a, b, label, "do not fit at axis " + std::to_string(axis));
    check_rank(a.rank, label);
    for (int i = 0; i < a.rank; ++i) {
      const int64_t own = i - axis;
      extents[i] = own >= 0 && own < b.rank ? b[static_cast<int>(own)] : 1;
      if (extents[i] != 1 && extents[i] != a[i]) fail(a, b, label, "do not fit at axis " + std::to_string(axis));
    }
    return {extents, a.rank};
  }

 private:
  [[noreturn]] static void fail(sdk::Shape a, sdk::Shape b, const std::string& label, const std::string& what) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, label + ": input shapes " + to_string(a) + " and " + to_string(b) + " " + what);
  }

  bool is_numpy_ = true;
  bool is_exact_ = false;
  bool is_channels_ = false;
  int64_t axis_ = -1;
};

/// Runs op over the broadcast of two dense arrays into `target`, in parallel.
template <class Op, class A, class B, class U>
void zip_broadcast(sdk::Call& call, const Op& op, const A* a, const B* b, U* target, const Broadcast<2>& plan) {
  const int64_t a_stride = plan.inner_stride(0);
  const int64_t b_stride = plan.inner_stride(1);
  call.parallel_for(plan.count(), grain_of<Op, A>(), [&](int64_t begin, int64_t end) {
    plan.for_each_run(begin, end, [&](const auto& run) {
      zip_elements(op, a + run.inputs[0], a_stride, b + run.inputs[1], b_stride, target + run.output, run.count);
    });
  });
}

/// y = op(a, b) with broadcasting; the type of y is that of a unless `Out` is given.
template <class Op, class Types, class Out = void>
class Binary final : public NodeKernel {
 public:
  explicit Binary(const sdk::NodeView& node, Alignment alignment = {})
      : NodeKernel(node), op_(make_op<Op>(node)), alignment_(alignment) {}

  void run(sdk::Call& call) const override {
    const gantry_tensor& a = call.input(0);
    const gantry_tensor& b = call.input(1);
    if (a.dtype != b.dtype) fail("the inputs must have one element type");
    dispatch<Types>(a.dtype, [&](auto type) { run_typed<typename decltype(type)::type>(call, a, b); });
  }

 private:
  template <class T>
  void run_typed(sdk::Call& call, const gantry_tensor& a, const gantry_tensor& b) const {
    using U = std::conditional_t<std::is_void_v<Out>, T, Out>;
    const auto* a_data = static_cast<const T*>(a.data);
    const auto* b_data = static_cast<const T*>(b.data);
    const sdk::Shape shape(a);
    if (shape == sdk::Shape(b)) {
      auto* target = static_cast<U*>(call.output(0, kDType<U>, shape).data);
      call.parallel_for(shape.element_count(), grain_of<Op, T>(), [&](int64_t begin, int64_t end) {
        zip_elements(op_, a_data + begin, 1, b_data + begin, 1, target + begin, end - begin);
      });
      return;
    }
    int64_t extents[kMaxRank];
    const Broadcast<2> plan({shape, alignment_.align(shape, sdk::Shape(b), extents, label())}, label());
    auto* target = static_cast<U*>(call.output(0, kDType<U>, plan.shape()).data);
    zip_broadcast(call, op_, a_data, b_data, target, plan);
  }

  Op op_;
  Alignment alignment_;
};

/// Factory of a Binary below version 7.
template <class K>
std::unique_ptr<sdk::Kernel> make_with_axis(const sdk::NodeView& node) {
  return std::make_unique<K>(node, Alignment::from_axis(node));
}

/// The output may be written over the one input, or over either of two.
inline constexpr sdk::Marks kOverFirst = {.overwrites = 1};
inline constexpr sdk::Marks kOverEither = {.overwrites = 3};

}  // namespace gantry::cpu
