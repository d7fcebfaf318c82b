// SPDX-License-Identifier: Apache-2.0
// Mathematical functions of one input.
#include <cmath>
#include <limits>

#include "elementwise/elementwise.h"
#include "families.h"
#include "integer_math.h"
#include "simd/vector_math.h"

namespace gantry::cpu {
namespace {

struct Abs {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fabs(x);
    } else if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else {
      // All ones if x is negative. Without a branch, which random signs would mispredict.
      const auto sign = static_cast<T>(x >> (8 * sizeof(T) - 1));
      return wrap_sub(static_cast<T>(x ^ sign), sign);
    }
  }
  void map(const float* x, float* y, int64_t n) const { simd::abs(x, y, n, nullptr); }
};
struct Neg {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return -x;
    } else {
      return wrap_sub(T{0}, x);
    }
  }
  void map(const float* x, float* y, int64_t n) const { simd::neg(x, y, n, nullptr); }
};
struct Sign {
  template <class T>
  T operator()(T x) const {
    const auto sign = static_cast<T>((x > 0) - (x < 0));
    if constexpr (std::is_floating_point_v<T>) {
      return x != x ? x : sign;
    } else {
      return sign;
    }
  }
};

/// Halves to even.
struct Round {
  template <class T>
  T operator()(T x) const {
    return std::nearbyint(x);
  }
  void map(const float* x, float* y, int64_t n) const { simd::round(x, y, n, nullptr); }
  void map(const double* x, double* y, int64_t n) const { simd::round(x, y, n); }
};
struct Reciprocal {
  template <class T>
  T operator()(T x) const {
    return T{1} / x;
  }
  void map(const float* x, float* y, int64_t n) const { simd::reciprocal(x, y, n, nullptr); }
};
/// Version 9 allows integers; their results are truncated.
struct Erf {
  static constexpr bool kSlow = true;
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::erf(x);
    } else {
      return static_cast<T>(std::erf(static_cast<float>(x)));
    }
  }
  void map(const float* x, float* y, int64_t n) const { simd::erf(x, y, n, nullptr); }
};

// Functions of the C library, one element at a time.
#define GANTRY_LIBM_BODY(function)    \
  static constexpr bool kSlow = true; \
  template <class T>                  \
  T operator()(T x) const {           \
    return std::function(x);          \
  }
#define GANTRY_LIBM(Name, function) \
  struct Name {                     \
    GANTRY_LIBM_BODY(function)      \
  }
// Functions that also have a SIMD loop for f32.
#define GANTRY_VECTORS_BODY(function) \
  GANTRY_LIBM_BODY(function)          \
  void map(const float* x, float* y, int64_t n) const { simd::function(x, y, n, nullptr); }
#define GANTRY_VECTORS(Name, function) \
  struct Name {                        \
    GANTRY_VECTORS_BODY(function)      \
  }
// Functions that also have SIMD loops for f32 and f64.
#define GANTRY_VECTORS_F64(Name, function)                                             \
  struct Name {                                                                        \
    GANTRY_VECTORS_BODY(function)                                                      \
    void map(const double* x, double* y, int64_t n) const { simd::function(x, y, n); } \
  }
GANTRY_LIBM(Tan, tan);
GANTRY_LIBM(Sinh, sinh);
GANTRY_LIBM(Cosh, cosh);
GANTRY_LIBM(Asinh, asinh);
GANTRY_LIBM(Acosh, acosh);
GANTRY_LIBM(Atanh, atanh);
GANTRY_VECTORS(Exp, exp);
GANTRY_VECTORS(Log, log);
GANTRY_VECTORS(Sin, sin);
GANTRY_VECTORS(Cos, cos);
GANTRY_VECTORS(Asin, asin);
GANTRY_VECTORS(Acos, acos);
GANTRY_VECTORS(Atan, atan);
GANTRY_VECTORS_F64(Ceil, ceil);
GANTRY_VECTORS_F64(Floor, floor);
GANTRY_VECTORS_F64(Sqrt, sqrt);
GANTRY_VECTORS_F64(Tanh, tanh);
#undef GANTRY_LIBM_BODY
#undef GANTRY_LIBM
#undef GANTRY_VECTORS_BODY
#undef GANTRY_VECTORS
#undef GANTRY_VECTORS_F64

struct IsNaN {
  template <class T>
  bool operator()(T x) const {
    return x != x;
  }
};
struct IsInf {
  explicit IsInf(const sdk::NodeView& node)
      : positive(node.get_int("detect_positive", 1) != 0),
        negative(node.get_int("detect_negative", 1) != 0) {}
  template <class T>
  bool operator()(T x) const {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    // Without branches, so that loops vectorize.
    return static_cast<bool>((static_cast<int>(positive) & static_cast<int>(x == kInfinity)) |
                             (static_cast<int>(negative) & static_cast<int>(x == -kInfinity)));
  }
  void map(const float* x, bool* y, int64_t n) const {
    simd::is_infinite(x, reinterpret_cast<uint8_t*>(y), n, positive, negative);
  }
  bool positive;
  bool negative;
};

using FloatsAnd8 = Concat<FloatTypes, Float8Types>;
constexpr sdk::DTypeSet kFloatsAnd8 = dtype_set(FloatsAnd8{});

template <class Op>
constexpr sdk::Factory kUnaryOfFloats = sdk::make<Unary<Op, FloatTypes>>;
template <class Op>
constexpr sdk::Factory kUnaryOfNumbers = sdk::make<Unary<Op, NumberTypes>>;
template <class Op>
constexpr sdk::Factory kToBool = sdk::make<Unary<Op, FloatsAnd8, bool>>;

constexpr sdk::KernelRow kUnaryRows[] = {
    {"Abs", 1, sdk::kLatest, sdk::kNumbers, kUnaryOfNumbers<Abs>, kOverFirst},
    {"Neg", 1, sdk::kLatest, sdk::kNumbers, kUnaryOfNumbers<Neg>, kOverFirst},
    {"Sign", 9, sdk::kLatest, sdk::kNumbers, kUnaryOfNumbers<Sign>, kOverFirst},
    {"Ceil", 1, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Ceil>, kOverFirst},
    {"Floor", 1, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Floor>, kOverFirst},
    {"Round", 11, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Round>, kOverFirst},
    {"Sqrt", 1, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Sqrt>, kOverFirst},
    {"Reciprocal", 1, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Reciprocal>, kOverFirst},
    {"Exp", 1, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Exp>, kOverFirst},
    {"Log", 1, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Log>, kOverFirst},
    {"Tanh", 1, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Tanh>, kOverFirst},
    {"Erf", 9, sdk::kLatest, sdk::kNumbers, kUnaryOfNumbers<Erf>, kOverFirst},
    {"Sin", 7, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Sin>, kOverFirst},
    {"Cos", 7, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Cos>, kOverFirst},
    {"Tan", 7, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Tan>, kOverFirst},
    {"Asin", 7, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Asin>, kOverFirst},
    {"Acos", 7, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Acos>, kOverFirst},
    {"Atan", 7, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Atan>, kOverFirst},
    {"Sinh", 9, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Sinh>, kOverFirst},
    {"Cosh", 9, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Cosh>, kOverFirst},
    {"Asinh", 9, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Asinh>, kOverFirst},
    {"Acosh", 9, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Acosh>, kOverFirst},
    {"Atanh", 9, sdk::kLatest, sdk::kFloats, kUnaryOfFloats<Atanh>, kOverFirst},
    {"IsNaN", 9, sdk::kLatest, kFloatsAnd8, kToBool<IsNaN>},
    {"IsInf", 10, sdk::kLatest, kFloatsAnd8, kToBool<IsInf>},
};

}  // namespace

sdk::KernelTable unary_kernels() { return sdk::table(kUnaryRows); }

}  // namespace gantry::cpu
