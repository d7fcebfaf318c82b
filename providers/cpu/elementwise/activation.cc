// SPDX-License-Identifier: Apache-2.0
// Activation functions of one input. Each has a scalar form for every floating-point type and a
// vector loop for f32.
#include <cmath>

#include "attributes.h"
#include "elementwise/elementwise.h"
#include "families.h"
#include "integer_math.h"
#include "simd/vector_math.h"

namespace gantry::cpu {
namespace {

struct Relu {
  template <class T>
  T operator()(T x) const {
    return x < T{0} ? T{0} : x;
  }
  void map(const float* x, float* y, int64_t n) const { simd::relu(x, y, n, nullptr); }
};

template <class T>
T sigmoid_of(T x) {
  return T{1} / (T{1} + std::exp(-x));
}
struct Sigmoid {
  static constexpr bool kSlow = true;
  template <class T>
  T operator()(T x) const {
    return sigmoid_of(x);
  }
  void map(const float* x, float* y, int64_t n) const { simd::sigmoid(x, y, n, nullptr); }
};
struct Softplus {
  static constexpr bool kSlow = true;
  template <class T>
  T operator()(T x) const {
    return (x > 0 ? x : T{0}) + std::log1p(std::exp(-std::fabs(x)));
  }
  void map(const float* x, float* y, int64_t n) const { simd::softplus(x, y, n, nullptr); }
};
struct Softsign {
  template <class T>
  T operator()(T x) const {
    return x / (T{1} + std::fabs(x));
  }
  void map(const float* x, float* y, int64_t n) const { simd::softsign(x, y, n, nullptr); }
};
struct Mish {
  static constexpr bool kSlow = true;
  template <class T>
  T operator()(T x) const {
    return x * std::tanh(x > T{40} ? x : std::log1p(std::exp(x)));
  }
  void map(const float* x, float* y, int64_t n) const { simd::mish(x, y, n, nullptr); }
};
struct HardSwish {
  template <class T>
  T operator()(T x) const {
    const T gate = x / T{6} + T(0.5);
    return x * (gate < 0 ? T{0} : gate > 1 ? T{1} : gate);
  }
  void map(const float* x, float* y, int64_t n) const { simd::hard_swish(x, y, n, nullptr); }
};

struct LeakyRelu {
  explicit LeakyRelu(const sdk::NodeView& node) : alpha(node.get_float("alpha", 0.01F)) {}
  template <class T>
  T operator()(T x) const {
    return x < 0 ? static_cast<T>(alpha) * x : x;
  }
  void map(const float* x, float* y, int64_t n) const { simd::leaky_relu(x, y, n, &alpha); }
  float alpha;
};
struct ThresholdedRelu {
  explicit ThresholdedRelu(const sdk::NodeView& node) : alpha(node.get_float("alpha", 1.0F)) {}
  template <class T>
  T operator()(T x) const {
    return x > static_cast<T>(alpha) ? x : T{0};
  }
  void map(const float* x, float* y, int64_t n) const { simd::thresholded_relu(x, y, n, &alpha); }
  float alpha;
};
struct Elu {
  static constexpr bool kSlow = true;
  explicit Elu(const sdk::NodeView& node) : alpha(node.get_float("alpha", 1.0F)) {}
  template <class T>
  T operator()(T x) const {
    return x < 0 ? static_cast<T>(alpha) * std::expm1(x) : x;
  }
  void map(const float* x, float* y, int64_t n) const { simd::elu(x, y, n, &alpha); }
  float alpha;
};
struct Celu {
  static constexpr bool kSlow = true;
  explicit Celu(const sdk::NodeView& node) : alpha(node.get_float("alpha", 1.0F)) {}
  template <class T>
  T operator()(T x) const {
    const T a = static_cast<T>(alpha);
    const T bent = a * std::expm1(x / a);
    return x != x ? x : (x > 0 ? x : T{0}) + (bent < 0 ? bent : T{0});
  }
  void map(const float* x, float* y, int64_t n) const { simd::celu(x, y, n, &alpha); }
  float alpha;
};
struct HardSigmoid {
  explicit HardSigmoid(const sdk::NodeView& node)
      : p{node.get_float("alpha", 0.2F), node.get_float("beta", 0.5F)} {}
  template <class T>
  T operator()(T x) const {
    const T line = static_cast<T>(p[0]) * x + static_cast<T>(p[1]);
    return line < 0 ? T{0} : line > 1 ? T{1} : line;
  }
  void map(const float* x, float* y, int64_t n) const { simd::hard_sigmoid(x, y, n, p); }
  float p[2];
};
struct Swish {
  static constexpr bool kSlow = true;
  explicit Swish(const sdk::NodeView& node) : alpha(node.get_float("alpha", 1.0F)) {}
  template <class T>
  T operator()(T x) const {
    return x * sigmoid_of(static_cast<T>(alpha) * x);
  }
  void map(const float* x, float* y, int64_t n) const { simd::swish(x, y, n, &alpha); }
  float alpha;
};

/// The default alpha and gamma of version 1 have fewer digits.
template <bool kIsVersion1>
struct Selu {
  static constexpr bool kSlow = true;
  explicit Selu(const sdk::NodeView& node)
      : p{node.get_float("alpha", kIsVersion1 ? 1.6732F : 1.67326319217681884765625F),
          node.get_float("gamma", kIsVersion1 ? 1.0507F : 1.05070102214813232421875F)} {}
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(p[1]) * (x > 0 ? x : static_cast<T>(p[0]) * std::expm1(x));
  }
  void map(const float* x, float* y, int64_t n) const { simd::selu(x, y, n, p); }
  float p[2];
};

struct Gelu {
  static constexpr bool kSlow = true;
  explicit Gelu(const sdk::NodeView& node)
      : is_tanh(read_choice(node, "approximate", "none", {"none", "tanh"}) == 1) {}

  template <class T>
  T operator()(T x) const {
    if (!is_tanh) return T(0.5) * x * (T{1} + std::erf(x * T(0.70710678118654752440)));
    return T(0.5) * x *
           (T{1} + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
  }
  void map(const float* x, float* y, int64_t n) const {
    is_tanh ? simd::gelu_tanh(x, y, n, nullptr) : simd::gelu(x, y, n, nullptr);
  }
  bool is_tanh;
};

/// Shrink (opset 9): x + bias below -lambd, x - bias above lambd, else 0. Results of integers are
/// truncated; those of up to 16 bits are computed in f32, as in ONNX Runtime, whose rounding
/// decides where the bias is tiny.
struct Shrink {
  explicit Shrink(const sdk::NodeView& node)
      : lambd(node.get_float("lambd", 0.5F)), bias(node.get_float("bias", 0.0F)) {}
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      using Real = std::conditional_t<sizeof(T) <= sizeof(int16_t), float, double>;
      return to_integer<T>(shrunk(static_cast<Real>(x)));
    } else {
      return shrunk(x);
    }
  }
  template <class T>
  [[nodiscard]] T shrunk(T x) const {
    const T limit = static_cast<T>(lambd);
    return x < -limit ? x + static_cast<T>(bias) : x > limit ? x - static_cast<T>(bias) : T{0};
  }
  float lambd;
  float bias;
};

using ReluTypes = Concat<FloatTypes, SignedTypes>;
template <class Op>
constexpr sdk::Factory kActivationOf = sdk::make<Unary<Op, FloatTypes>>;

constexpr sdk::KernelRow kActivationRows[] = {
    {"Relu", 1, sdk::kLatest, dtype_set(ReluTypes{}), sdk::make<Unary<Relu, ReluTypes>>,
     kOverFirst},
    {"Sigmoid", 1, sdk::kLatest, sdk::kFloats, kActivationOf<Sigmoid>, kOverFirst},
    {"Softplus", 1, sdk::kLatest, sdk::kFloats, kActivationOf<Softplus>, kOverFirst},
    {"Softsign", 1, sdk::kLatest, sdk::kFloats, kActivationOf<Softsign>, kOverFirst},
    {"Mish", 18, sdk::kLatest, sdk::kFloats, kActivationOf<Mish>, kOverFirst},
    {"HardSwish", 14, sdk::kLatest, sdk::kFloats, kActivationOf<HardSwish>, kOverFirst},
    {"LeakyRelu", 1, sdk::kLatest, sdk::kFloats, kActivationOf<LeakyRelu>, kOverFirst},
    {"ThresholdedRelu", 10, sdk::kLatest, sdk::kFloats, kActivationOf<ThresholdedRelu>, kOverFirst},
    {"Elu", 1, sdk::kLatest, sdk::kFloats, kActivationOf<Elu>, kOverFirst},
    {"Celu", 12, sdk::kLatest, sdk::kFloats, kActivationOf<Celu>, kOverFirst},
    {"Selu", 1, 5, sdk::kFloats, kActivationOf<Selu<true>>, kOverFirst},
    {"Selu", 6, sdk::kLatest, sdk::kFloats, kActivationOf<Selu<false>>, kOverFirst},
    {"HardSigmoid", 1, sdk::kLatest, sdk::kFloats, kActivationOf<HardSigmoid>, kOverFirst},
    {"Swish", 24, sdk::kLatest, sdk::kFloats, kActivationOf<Swish>, kOverFirst},
    {"Gelu", 20, sdk::kLatest, sdk::kFloats, kActivationOf<Gelu>, kOverFirst},
    {"Shrink", 9, sdk::kLatest, sdk::kNumbers, sdk::make<Unary<Shrink, NumberTypes>>, kOverFirst},
};

}  // namespace

sdk::KernelTable activation_kernels() { return sdk::table(kActivationRows); }

}  // namespace gantry::cpu
