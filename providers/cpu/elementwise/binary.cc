// SPDX-License-Identifier: Apache-2.0
// Arithmetic operators of two inputs, with broadcasting.
#include <cmath>
#include <type_traits>

#include "elementwise/elementwise.h"
#include "families.h"
#include "integer_math.h"
#include "simd/integer_vectors.h"
#include "simd/vector_math.h"

namespace gantry::cpu {
namespace {

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return wrap_add(a, b);
  }
  void zip(const float* a, int64_t sa, const float* b, int64_t sb, float* y, int64_t n) const {
    simd::add(a, sa, b, sb, y, n);
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return wrap_sub(a, b);
  }
  void zip(const float* a, int64_t sa, const float* b, int64_t sb, float* y, int64_t n) const {
    simd::sub(a, sa, b, sb, y, n);
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    return wrap_mul(a, b);
  }
  void zip(const float* a, int64_t sa, const float* b, int64_t sb, float* y, int64_t n) const {
    simd::mul(a, sa, b, sb, y, n);
  }
};
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    return wrap_div(a, b);
  }
  void zip(const float* a, int64_t sa, const float* b, int64_t sb, float* y, int64_t n) const {
    simd::div(a, sa, b, sb, y, n);
  }
  void zip(const int32_t* a, int64_t sa, const int32_t* b, int64_t sb, int32_t* y,
           int64_t n) const {
    simd::divide(a, sa, b, sb, y, n);
  }
};
struct PRelu {
  template <class T>
  T operator()(T a, T slope) const {
    return a < T{0} ? wrap_mul(a, slope) : a;
  }
  void zip(const float* a, int64_t sa, const float* b, int64_t sb, float* y, int64_t n) const {
    simd::prelu(a, sa, b, sb, y, n);
  }
};
struct Mod {
  static constexpr bool kSlow = true;
  explicit Mod(const sdk::NodeView& node) : is_truncated(node.get_int("fmod", 0) != 0) {}
  template <class T>
  T operator()(T a, T b) const {
    return is_truncated ? truncated_mod(a, b) : floored_mod(a, b);
  }
  bool is_truncated;
};

/// Pow: the result has the element type of the base. Integers to integer powers are exact and wrap
/// around.
struct Raise {
  static constexpr bool kSlow = true;
  template <class T, class E>
  T operator()(T base, E exponent) const {
    if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
      return integer_pow(base, exponent);
    } else if constexpr (std::is_integral_v<T>) {
      return to_integer<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    } else {
      // Rounding the exponent to T could change its parity.
      constexpr bool kIsWider = sizeof(E) >= sizeof(T) && !std::is_same_v<E, T>;
      using Wide = std::conditional_t<kIsWider, double, T>;
      return static_cast<T>(std::pow(static_cast<Wide>(base), static_cast<Wide>(exponent)));
    }
  }
};
using BaseTypes = Concat<FloatTypes, TypeList<int32_t, int64_t>>;

class Pow final : public NodeKernel {
 public:
  explicit Pow(const sdk::NodeView& node, Alignment alignment = {})
      : NodeKernel(node), alignment_(alignment) {}

  void run(sdk::Call& call) const override {
    const gantry_tensor& base = call.input(0);
    const gantry_tensor& exponent = call.input(1);
    if (run_known_power(call, base, exponent)) return;
    int64_t extents[kMaxRank];
    const sdk::Shape shape(base);
    const Broadcast<2> plan(
        {shape, alignment_.align(shape, sdk::Shape(exponent), extents, label())}, label());
    void* target = call.output(0, base.dtype, plan.shape()).data;
    dispatch<BaseTypes>(base.dtype, [&](auto base_type) {
      using T = typename decltype(base_type)::type;
      dispatch<NumberTypes>(exponent.dtype, [&](auto exponent_type) {
        using E = typename decltype(exponent_type)::type;
        zip_broadcast(call, Raise(), static_cast<const T*>(base.data),
                      static_cast<const E*>(exponent.data), static_cast<T*>(target), plan);
      });
    });
  }

 private:
  /// The SIMD function that computes this power of f32 without logarithms; null if there is none.
  static simd::Map* map_of(float power) {
    if (power == 2.0F) return &simd::square;
    if (power == 3.0F) return &simd::cube;
    if (power == 0.5F) return &simd::power_half;
    if (power == -1.0F) return &simd::reciprocal;
    return nullptr;
  }
  /// Computes the most frequent powers of f32. Returns false for other exponents.
  static bool run_known_power(sdk::Call& call, const gantry_tensor& base,
                              const gantry_tensor& exponent) {
    if (base.dtype != GANTRY_FLOAT || exponent.dtype != GANTRY_FLOAT || exponent.rank > base.rank)
      return false;
    if (sdk::Shape(exponent).element_count() != 1) return false;
    simd::Map* map = map_of(*static_cast<const float*>(exponent.data));
    if (!map) return false;
    const sdk::Shape shape(base);
    const auto* x = static_cast<const float*>(base.data);
    auto* y = static_cast<float*>(call.output(0, GANTRY_FLOAT, shape).data);
    call.parallel_for(shape.element_count(), kPlainGrain, [&](int64_t begin, int64_t end) {
      map(x + begin, y + begin, end - begin, nullptr);
    });
    return true;
  }

  Alignment alignment_;
};

/// PRelu below version 7.
std::unique_ptr<sdk::Kernel> make_channel_prelu(const sdk::NodeView& node) {
  return std::make_unique<Binary<PRelu, NumberTypes>>(node, Alignment::from_channels());
}

template <class Op>
constexpr sdk::Factory kBinaryOfNumbers = sdk::make<Binary<Op, NumberTypes>>;
template <class Op>
constexpr sdk::Factory kBinaryWithAxis = make_with_axis<Binary<Op, NumberTypes>>;

constexpr sdk::KernelRow kBinaryRows[] = {
    {"Add", 1, 6, sdk::kNumbers, kBinaryWithAxis<Add>, kOverEither},
    {"Add", 7, sdk::kLatest, sdk::kNumbers, kBinaryOfNumbers<Add>, kOverEither},
    {"Sub", 1, 6, sdk::kNumbers, kBinaryWithAxis<Sub>, kOverEither},
    {"Sub", 7, sdk::kLatest, sdk::kNumbers, kBinaryOfNumbers<Sub>, kOverEither},
    {"Mul", 1, 6, sdk::kNumbers, kBinaryWithAxis<Mul>, kOverEither},
    {"Mul", 7, sdk::kLatest, sdk::kNumbers, kBinaryOfNumbers<Mul>, kOverEither},
    {"Div", 1, 6, sdk::kNumbers, kBinaryWithAxis<Div>, kOverEither},
    {"Div", 7, sdk::kLatest, sdk::kNumbers, kBinaryOfNumbers<Div>, kOverEither},
    {"Pow", 1, 6, sdk::kFloats, make_with_axis<Pow>, kOverFirst},
    {"Pow", 7, sdk::kLatest, dtype_set(BaseTypes{}), sdk::make<Pow>, kOverFirst},
    {"Mod", 10, sdk::kLatest, sdk::kNumbers, kBinaryOfNumbers<Mod>, kOverEither},
    {"PRelu", 1, 6, sdk::kFloats, make_channel_prelu, kOverFirst},
    {"PRelu", 7, sdk::kLatest, sdk::kNumbers, kBinaryOfNumbers<PRelu>, kOverFirst},
};

}  // namespace

sdk::KernelTable binary_kernels() { return sdk::table(kBinaryRows); }

}  // namespace gantry::cpu
