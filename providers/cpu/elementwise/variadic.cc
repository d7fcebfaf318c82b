// SPDX-License-Identifier: Apache-2.0
// Sum, Mean, Max and Min of any number of inputs. Two inputs are computed as a binary operator.
// More are accumulated row by row in a block on the stack: each is read once, and the output may
// share the memory of an input that the node lists twice.
#include <algorithm>

#include "elementwise/elementwise.h"
#include "families.h"
#include "simd/vector_math.h"

namespace gantry::cpu {
namespace {

struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
  void zip(const float* a, int64_t sa, const float* b, int64_t sb, float* y, int64_t n) const {
    simd::add(a, sa, b, sb, y, n);
  }
};
/// NaN if either operand is NaN.
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
  void zip(const float* a, int64_t sa, const float* b, int64_t sb, float* y, int64_t n) const {
    simd::maximum(a, sa, b, sb, y, n);
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
  void zip(const float* a, int64_t sa, const float* b, int64_t sb, float* y, int64_t n) const {
    simd::minimum(a, sa, b, sb, y, n);
  }
};

/// The broadcast shape of all inputs.
Dims joint_shape(sdk::Call& call, const std::string& label) {
  Dims shape;
  for (int slot = 0; slot < call.input_count(); ++slot) {
    const Broadcast<2> joint({shape.shape(), call.shape(slot)}, label);
    shape = Dims(joint.shape());
  }
  return shape;
}

/// Accumulates in Compute<T>; divides by the number of inputs if `kIsMean`.
template <class Op, class Types, bool kIsMean = false>
class Variadic final : public NodeKernel {
 public:
  explicit Variadic(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    if (call.input_count() == 0) fail("needs at least one input");
    const uint32_t dtype = call.input(0).dtype;
    for (int slot = 1; slot < call.input_count(); ++slot) {
      if (call.input(slot).dtype != dtype) fail("the inputs must have one element type");
    }
    const Dims shape = joint_shape(call, label());
    const int64_t count = count_of(shape.shape());
    dispatch<Types>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* target = static_cast<T*>(call.output(0, dtype, shape.shape()).data);
      call.parallel_for(count, kVectorGrain, [&](int64_t begin, int64_t end) {
        run_range<T>(call, shape.shape(), target, begin, end);
      });
    });
  }

 private:
  static constexpr int64_t kBlock = 512;

  template <class T>
  void run_range(sdk::Call& call, sdk::Shape shape, T* target, int64_t begin, int64_t end) const {
    using C = Compute<T>;
    C block[kBlock];
    for (; begin < end; begin += kBlock) {
      const int64_t n = std::min(kBlock, end - begin);
      for (int slot = 0; slot < call.input_count(); ++slot)
        accumulate<T>(call, slot, shape, begin, n, block);
      if constexpr (kIsMean) {
        const auto divisor = static_cast<C>(call.input_count());
        if constexpr (std::is_same_v<T, float>) {
          simd::div(block, 1, &divisor, 0, target + begin, n);
          continue;
        }
        for (int64_t i = 0; i < n; ++i) block[i] /= divisor;
      }
      for (int64_t i = 0; i < n; ++i) target[begin + i] = static_cast<T>(block[i]);
    }
  }

  /// block = op(block, input), or input for the first one, over `n` output elements from `begin`.
  template <class T>
  void accumulate(sdk::Call& call, int slot, sdk::Shape shape, int64_t begin, int64_t n,
                  Compute<T>* block) const {
    const T* data = call.data<T>(slot);
    if (call.shape(slot) == shape) {
      accumulate_run(slot, data + begin, 1, n, block);
      return;
    }
    const Broadcast<2> plan({shape, call.shape(slot)}, label());
    plan.for_each_run(begin, begin + n, [&](const auto& run) {
      accumulate_run(slot, data + run.inputs[1], plan.inner_stride(1), run.count,
                     block + (run.output - begin));
    });
  }

  template <class T>
  static void accumulate_run(int slot, const T* data, int64_t stride, int64_t n,
                             Compute<T>* block) {
    if (slot > 0) return zip_elements(Op(), block, 1, data, stride, block, n);
    for (int64_t i = 0; i < n; ++i) block[i] = static_cast<Compute<T>>(data[i * stride]);
  }
};

std::string needs_two_inputs(const sdk::NodeView& node) {
  return node.input_count() == 2 ? "" : "this kernel takes two inputs";
}

template <class Op, class Types>
constexpr sdk::Factory kOfTwo = sdk::make<Binary<Op, Types>>;

constexpr sdk::KernelRow kVariadicRows[] = {
    {"Sum", 1, sdk::kLatest, sdk::kFloats, kOfTwo<Sum, FloatTypes>, kOverEither, needs_two_inputs,
     "", "Sum.two"},
    {"Sum", 1, sdk::kLatest, sdk::kFloats, sdk::make<Variadic<Sum, FloatTypes>>},
    {"Max", 1, sdk::kLatest, sdk::kNumbers, kOfTwo<Max, NumberTypes>, kOverEither, needs_two_inputs,
     "", "Max.two"},
    {"Max", 1, sdk::kLatest, sdk::kNumbers, sdk::make<Variadic<Max, NumberTypes>>},
    {"Min", 1, sdk::kLatest, sdk::kNumbers, kOfTwo<Min, NumberTypes>, kOverEither, needs_two_inputs,
     "", "Min.two"},
    {"Min", 1, sdk::kLatest, sdk::kNumbers, sdk::make<Variadic<Min, NumberTypes>>},
    {"Mean", 1, sdk::kLatest, sdk::kFloats, sdk::make<Variadic<Sum, FloatTypes, true>>},
};

}  // namespace

sdk::KernelTable variadic_kernels() { return sdk::table(kVariadicRows); }

}  // namespace gantry::cpu
