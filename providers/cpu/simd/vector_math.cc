// SPDX-License-Identifier: Apache-2.0
#include "simd/vector_math.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/vector_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// clang-format off: after the file that includes this one again
#include <hwy/contrib/math/math-inl.h>
// clang-format on
#include "simd/vector_loops-inl.h"
#include "simd/vector_math-inl.h"
#include "types.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

template <class Function>
HWY_INLINE void zip(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* y,
                    int64_t count, Function function) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto whole = count - count % lanes;
  const int64_t rest = count - whole;
  if (a_stride && b_stride) {
    for (int64_t i = 0; i < whole; i += lanes) {
      hn::StoreU(function(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
    }
    if (rest) {
      store_partial(d,
                    function(d, load_partial(d, a + whole, rest, 1.0F),
                             load_partial(d, b + whole, rest, 1.0F)),
                    y + whole, rest);
    }
  } else if (a_stride) {
    const V32 scalar = hn::Set(d, *b);
    for (int64_t i = 0; i < whole; i += lanes)
      hn::StoreU(function(d, hn::LoadU(d, a + i), scalar), d, y + i);
    if (rest) {
      store_partial(d, function(d, load_partial(d, a + whole, rest, 1.0F), scalar), y + whole,
                    rest);
    }
  } else {
    const V32 scalar = hn::Set(d, *a);
    const V32 other = hn::Set(d, *b);
    for (int64_t i = 0; i < whole; i += lanes) {
      hn::StoreU(function(d, scalar, b_stride ? hn::LoadU(d, b + i) : other), d, y + i);
    }
    if (rest) {
      store_partial(d,
                    function(d, scalar, b_stride ? load_partial(d, b + whole, rest, 1.0F) : other),
                    y + whole, rest);
    }
  }
}

/// Sine and cosine. libm computes arguments beyond the range in which Highway's reduction is
/// accurate.
template <class Vector, class Scalar>
HWY_INLINE V32 periodic(F32 d, V32 v, Vector vector, Scalar scalar) {
  if (HWY_LIKELY(hn::AllTrue(d, hn::Le(hn::Abs(v), hn::Set(d, 39000.0F))))) return vector(d, v);
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = scalar(lanes[i]);
  return hn::Load(d, lanes);
}

#define GANTRY_MAP(Name, ...)                                          \
  void Name(const float* x, float* y, int64_t count, const float* p) { \
    (void)p;                                                           \
    map(x, y, count, [=](auto d, auto v) HWY_ATTR { __VA_ARGS__; });   \
  }
#define GANTRY_MAP_F64(Name, ...)                                   \
  void Name(const double* x, double* y, int64_t count) {            \
    map(x, y, count, [](auto d, auto v) HWY_ATTR { __VA_ARGS__; }); \
  }
#define GANTRY_ZIP(Name, ...)                                                                  \
  void Name(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* y,      \
            int64_t n) {                                                                       \
    zip(a, a_stride, b, b_stride, y, n, [](auto d, auto u, auto v) HWY_ATTR { __VA_ARGS__; }); \
  }

GANTRY_MAP(Abs, (void)d; return hn::Abs(v))
GANTRY_MAP(Neg, (void)d; return hn::Neg(v))
GANTRY_MAP(Relu, return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v))
GANTRY_MAP(Sqrt, (void)d; return hn::Sqrt(v))
GANTRY_MAP(Reciprocal, return hn::Div(hn::Set(d, 1.0F), v))
GANTRY_MAP(Ceil, (void)d; return hn::Ceil(v))
GANTRY_MAP(Floor, (void)d; return hn::Floor(v))
GANTRY_MAP(Round, (void)d; return hn::Round(v))
GANTRY_MAP(Square, (void)d; return hn::Mul(v, v))
GANTRY_MAP(Cube, (void)d; return hn::Mul(v, hn::Mul(v, v)))
GANTRY_MAP(PowerHalf, const auto infinity = hn::Inf(d);
           const auto root = hn::Sqrt(hn::Add(v, hn::Zero(d)));
           return hn::IfThenElse(hn::Eq(v, hn::Neg(infinity)), infinity, root))
GANTRY_MAP(Exp, return exp_of(d, v))
GANTRY_MAP(Log, return log_of(d, v))
GANTRY_MAP(Tanh, return tanh_of(d, v))
GANTRY_MAP(Sigmoid, return sigmoid_of(d, v))
GANTRY_MAP(Erf, return erf_of(d, v))
GANTRY_MAP(Softplus, return softplus_of(d, v))
GANTRY_MAP(Softsign, return hn::Div(v, hn::Add(hn::Set(d, 1.0F), hn::Abs(v))))
// tanh(ln(1 + w)) = w (w + 2) / (w (w + 2) + 2) with w = exp(x); beyond 20 it is 1 in f32.
GANTRY_MAP(Mish, const auto two = hn::Set(d, 2.0F);
           const auto w = exp_of(d, hn::Min(v, hn::Set(d, 20.0F)));
           const auto n = hn::Mul(w, hn::Add(w, two));
           return hn::Mul(v, hn::Div(n, hn::Add(n, two))))
GANTRY_MAP(Gelu, const auto half = hn::Mul(v, hn::Set(d, 0.5F));
           return hn::MulAdd(half, erf_of(d, hn::Mul(v, hn::Set(d, 0.70710678F))), half))
GANTRY_MAP(GeluTanh,
           const auto cubic = hn::MulAdd(hn::Mul(v, v), hn::Set(d, 0.044715F), hn::Set(d, 1.0F));
           const auto half = hn::Mul(v, hn::Set(d, 0.5F));
           return hn::MulAdd(half, tanh_of(d, hn::Mul(hn::Mul(v, hn::Set(d, 0.79788456F)), cubic)),
                             half))
GANTRY_MAP(HardSwish, const auto gate = hn::MulAdd(v, hn::Set(d, 1.0F / 6.0F), hn::Set(d, 0.5F));
           return or_nan(v, hn::Mul(v, clamped(d, gate, 0.0F, 1.0F))))
GANTRY_MAP(LeakyRelu,
           return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Mul(v, hn::Set(d, p[0])), v))
GANTRY_MAP(ThresholdedRelu, return hn::IfThenElseZero(hn::Gt(v, hn::Set(d, p[0])), v))
GANTRY_MAP(Elu, return hn::IfThenElse(hn::Lt(v, hn::Zero(d)),
                                      hn::Mul(hn::Set(d, p[0]), expm1_of(d, v)), v))
GANTRY_MAP(Celu, const auto alpha = hn::Set(d, p[0]); const auto zero = hn::Zero(d);
           const auto bent = hn::Mul(alpha, expm1_of(d, hn::Div(v, alpha)));
           return or_nan(v, hn::Add(hn::Max(v, zero), hn::Min(bent, zero))))
GANTRY_MAP(Selu, const auto bent = hn::Mul(hn::Set(d, p[0]), expm1_of(d, v));
           return hn::Mul(hn::Set(d, p[1]), hn::IfThenElse(hn::Gt(v, hn::Zero(d)), v, bent)))
GANTRY_MAP(HardSigmoid,
           return or_nan(v,
                         clamped(d, hn::MulAdd(v, hn::Set(d, p[0]), hn::Set(d, p[1])), 0.0F, 1.0F)))
GANTRY_MAP(Swish, return hn::Mul(v, sigmoid_of(d, hn::Mul(v, hn::Set(d, p[0])))))
GANTRY_MAP(Clip, return or_nan(v, clamped(d, v, p[0], p[1])))
GANTRY_MAP(Sin, return periodic(
                    d, v, [](auto t, auto u) HWY_ATTR { return hn::Sin(t, u); },
                    [](float u) { return std::sin(u); }))
GANTRY_MAP(Cos, return periodic(
                    d, v, [](auto t, auto u) HWY_ATTR { return hn::Cos(t, u); },
                    [](float u) { return std::cos(u); }))
GANTRY_MAP(Asin, return hn::Asin(d, v))
GANTRY_MAP(Acos, return hn::Acos(d, v))
GANTRY_MAP(Atan, return hn::Atan(d, v))
GANTRY_MAP_F64(FloorF64, (void)d; return hn::Floor(v))
GANTRY_MAP_F64(CeilF64, (void)d; return hn::Ceil(v))
GANTRY_MAP_F64(RoundF64, (void)d; return hn::Round(v))
GANTRY_MAP_F64(SqrtF64, (void)d; return hn::Sqrt(v))
GANTRY_MAP_F64(TanhF64, return or_nan(v, hn::Tanh(d, v)))

GANTRY_ZIP(Add, (void)d; return hn::Add(u, v))
GANTRY_ZIP(Sub, (void)d; return hn::Sub(u, v))
GANTRY_ZIP(Mul, (void)d; return hn::Mul(u, v))
GANTRY_ZIP(Div, (void)d; return hn::Div(u, v))
GANTRY_ZIP(Prelu, return hn::IfThenElse(hn::Lt(u, hn::Zero(d)), hn::Mul(u, v), u))
GANTRY_ZIP(Maximum, (void)d; return or_nan(v, or_nan(u, hn::Max(u, v))))
GANTRY_ZIP(Minimum, (void)d; return or_nan(v, or_nan(u, hn::Min(u, v))))

#undef GANTRY_MAP
#undef GANTRY_MAP_F64
#undef GANTRY_ZIP

void select(const uint8_t* condition, const float* a, int64_t a_stride, const float* b,
            int64_t b_stride, float* y, int64_t count) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const hn::Rebind<uint8_t, F32> d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto wide = hn::PromoteTo(di, hn::LoadU(d8, condition + i));
    const auto mask = hn::RebindMask(d, hn::Ne(wide, hn::Zero(di)));
    const V32 u = a_stride ? hn::LoadU(d, a + i) : hn::Set(d, *a);
    const V32 v = b_stride ? hn::LoadU(d, b + i) : hn::Set(d, *b);
    hn::StoreU(hn::IfThenElse(mask, u, v), d, y + i);
  }
  for (; i < count; ++i) y[i] = condition[i] ? a[i * a_stride] : b[i * b_stride];
}

void is_infinite(const float* x, uint8_t* y, int64_t count, bool positive, bool negative) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const hn::Rebind<uint8_t, F32> d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // NaN, which equals nothing, disables a sign.
  const float high = positive ? kInfinity : std::numeric_limits<float>::quiet_NaN();
  const float low = negative ? -kInfinity : std::numeric_limits<float>::quiet_NaN();
  const V32 upper = hn::Set(d, high);
  const V32 lower = hn::Set(d, low);
  const auto one = hn::Set(di, 1);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const V32 v = hn::LoadU(d, x + i);
    const auto found = hn::RebindMask(di, hn::Or(hn::Eq(v, upper), hn::Eq(v, lower)));
    hn::StoreU(hn::DemoteTo(d8, hn::IfThenElseZero(found, one)), d8, y + i);
  }
  for (; i < count; ++i) y[i] = static_cast<uint8_t>(x[i] == high || x[i] == low);
}

/// Uses conversion instructions if the target has them (AVX2 and up); otherwise Float16 converts in
/// software.
void widen(const uint16_t* half, float* y, int64_t count) {
  int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const F32 d;
  const hn::Rebind<uint16_t, F32> d16;
  const hn::Rebind<hwy::float16_t, F32> df16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::PromoteTo(d, hn::BitCast(df16, hn::LoadU(d16, half + i))), d, y + i);
  }
#endif
  for (; i < count; ++i) y[i] = static_cast<float>(std::bit_cast<Float16>(half[i]));
}
void narrow(const float* x, uint16_t* half, int64_t count) {
  int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const F32 d;
  const hn::Rebind<uint16_t, F32> d16;
  const hn::Rebind<hwy::float16_t, F32> df16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::BitCast(d16, hn::DemoteTo(df16, hn::LoadU(d, x + i))), d16, half + i);
  }
#endif
  for (; i < count; ++i) half[i] = Float16(x[i]).bits;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

#define GANTRY_EXPORT_MAP(name, Name)                                        \
  HWY_EXPORT(Name);                                                          \
  void simd::name(const float* x, float* y, int64_t count, const float* p) { \
    HWY_DYNAMIC_DISPATCH(Name)(x, y, count, p);                              \
  }
#define GANTRY_EXPORT_MAP_F64(name, Name)                      \
  HWY_EXPORT(Name);                                            \
  void simd::name(const double* x, double* y, int64_t count) { \
    HWY_DYNAMIC_DISPATCH(Name)(x, y, count);                   \
  }
#define GANTRY_EXPORT_ZIP(name, Name)                                                           \
  HWY_EXPORT(Name);                                                                             \
  void simd::name(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* y, \
                  int64_t n) {                                                                  \
    HWY_DYNAMIC_DISPATCH(Name)(a, a_stride, b, b_stride, y, n);                                 \
  }

GANTRY_EXPORT_MAP(abs, Abs)
GANTRY_EXPORT_MAP(neg, Neg)
GANTRY_EXPORT_MAP(relu, Relu)
GANTRY_EXPORT_MAP(sqrt, Sqrt)
GANTRY_EXPORT_MAP(reciprocal, Reciprocal)
GANTRY_EXPORT_MAP(ceil, Ceil)
GANTRY_EXPORT_MAP(floor, Floor)
GANTRY_EXPORT_MAP(round, Round)
GANTRY_EXPORT_MAP(square, Square)
GANTRY_EXPORT_MAP(cube, Cube)
GANTRY_EXPORT_MAP(power_half, PowerHalf)
GANTRY_EXPORT_MAP(exp, Exp)
GANTRY_EXPORT_MAP(log, Log)
GANTRY_EXPORT_MAP(tanh, Tanh)
GANTRY_EXPORT_MAP(sigmoid, Sigmoid)
GANTRY_EXPORT_MAP(erf, Erf)
GANTRY_EXPORT_MAP(softplus, Softplus)
GANTRY_EXPORT_MAP(softsign, Softsign)
GANTRY_EXPORT_MAP(mish, Mish)
GANTRY_EXPORT_MAP(gelu, Gelu)
GANTRY_EXPORT_MAP(gelu_tanh, GeluTanh)
GANTRY_EXPORT_MAP(hard_swish, HardSwish)
GANTRY_EXPORT_MAP(leaky_relu, LeakyRelu)
GANTRY_EXPORT_MAP(thresholded_relu, ThresholdedRelu)
GANTRY_EXPORT_MAP(elu, Elu)
GANTRY_EXPORT_MAP(celu, Celu)
GANTRY_EXPORT_MAP(selu, Selu)
GANTRY_EXPORT_MAP(hard_sigmoid, HardSigmoid)
GANTRY_EXPORT_MAP(swish, Swish)
GANTRY_EXPORT_MAP(clip, Clip)
GANTRY_EXPORT_MAP(sin, Sin)
GANTRY_EXPORT_MAP(cos, Cos)
GANTRY_EXPORT_MAP(asin, Asin)
GANTRY_EXPORT_MAP(acos, Acos)
GANTRY_EXPORT_MAP(atan, Atan)
GANTRY_EXPORT_MAP_F64(floor, FloorF64)
GANTRY_EXPORT_MAP_F64(ceil, CeilF64)
GANTRY_EXPORT_MAP_F64(round, RoundF64)
GANTRY_EXPORT_MAP_F64(sqrt, SqrtF64)
GANTRY_EXPORT_MAP_F64(tanh, TanhF64)
GANTRY_EXPORT_ZIP(add, Add)
GANTRY_EXPORT_ZIP(sub, Sub)
GANTRY_EXPORT_ZIP(mul, Mul)
GANTRY_EXPORT_ZIP(div, Div)
GANTRY_EXPORT_ZIP(prelu, Prelu)
GANTRY_EXPORT_ZIP(maximum, Maximum)
GANTRY_EXPORT_ZIP(minimum, Minimum)
HWY_EXPORT(select);
void simd::select(const uint8_t* condition, const float* a, int64_t a_stride, const float* b,
                  int64_t b_stride, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(select)(condition, a, a_stride, b, b_stride, y, count);
}

HWY_EXPORT(is_infinite);
void simd::is_infinite(const float* x, uint8_t* y, int64_t count, bool positive, bool negative) {
  HWY_DYNAMIC_DISPATCH(is_infinite)(x, y, count, positive, negative);
}

HWY_EXPORT(widen);
void simd::widen(const uint16_t* half, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(widen)(half, y, count);
}
HWY_EXPORT(narrow);
void simd::narrow(const float* x, uint16_t* half, int64_t count) {
  HWY_DYNAMIC_DISPATCH(narrow)(x, half, count);
}

#undef GANTRY_EXPORT_MAP
#undef GANTRY_EXPORT_MAP_F64
#undef GANTRY_EXPORT_ZIP

}  // namespace gantry::cpu
#endif  // HWY_ONCE
