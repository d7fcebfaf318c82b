// SPDX-License-Identifier: Apache-2.0
// Transcendental functions on Highway vectors of f32, within 2 ulp over the whole range unless
// noted, and correct for infinities and NaN. Include after <hwy/highway.h> in a file compiled by
// foreach_target; functions are in gantry::cpu::HWY_NAMESPACE.
#if defined(GANTRY_CPU_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_CPU_VECTOR_MATH_INL_H_
#undef GANTRY_CPU_VECTOR_MATH_INL_H_
#else
#define GANTRY_CPU_VECTOR_MATH_INL_H_
#endif

#include <hwy/highway.h>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// c[0] + c[1] x + ... by Horner's rule.
template <class D, class V, size_t N>
HWY_INLINE V polynomial(D d, V x, const float (&c)[N]) {
  V y = hn::Set(d, c[N - 1]);
  for (size_t i = N - 1; i-- > 0;) y = hn::MulAdd(y, x, hn::Set(d, c[i]));
  return y;
}

/// exp(x) = 2^n (1 + tail) with n whole and |tail| below 0.42.
template <class D, class V>
struct ExpParts {
  V n;
  V tail;
};
/// `n` is x / ln 2 rounded.
template <class D, class V>
HWY_INLINE ExpParts<D, V> exp_parts_of(D d, V x, V n) {
  constexpr float kTail[] = {5.000000000e-01F, 1.666657342e-01F, 4.166655016e-02F, 8.363767023e-03F,
                             1.392691805e-03F};
  // ln 2 in two parts: the product with the first, of few bits, is exact.
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  return {n, hn::MulAdd(hn::Mul(r, r), polynomial(d, r, kTail), r)};
}
template <class D, class V>
HWY_INLINE ExpParts<D, V> exp_parts(D d, V x) {
  return exp_parts_of(d, x, hn::Round(hn::Mul(x, hn::Set(d, 1.44269504F))));
}
/// y 2^n for whole n from -252 to 254, in two steps since either may leave the range of one
/// exponent; AVX-512 has an instruction for it.
template <class D, class V>
HWY_INLINE V scale_by_power(D d, V y, V n) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (std::is_same_v<V, hn::Vec512<float>>) return V{_mm512_scalef_ps(y.raw, n.raw)};
#endif
  const hn::RebindToSigned<D> di;
  const auto whole = hn::ConvertTo(di, n);
  const auto first = hn::ShiftRight<1>(whole);
  const auto second = hn::Sub(whole, first);
  const auto bias = hn::Set(di, 127);
  const V a = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(first, bias)));
  const V b = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(second, bias)));
  return hn::Mul(hn::Mul(y, a), b);
}
/// x within bounds; NaN stays NaN or becomes a bound.
template <class D, class V>
HWY_INLINE V clamped(D d, V x, float low, float high) {
  return hn::Min(hn::Max(x, hn::Set(d, low)), hn::Set(d, high));
}
/// y, but NaN where x is.
template <class V>
HWY_INLINE V or_nan(V x, V y) {
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  const auto parts = exp_parts(d, clamped(d, x, -104.0F, 89.0F));
  return or_nan(x, scale_by_power(d, hn::Add(parts.tail, hn::Set(d, 1.0F)), parts.n));
}

/// exp(x) for x <= 0, as softmax needs it. Results that would be subnormal are 0. The result for
/// NaN is unspecified.
template <class D, class V>
HWY_INLINE V exp_of_negative(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V lowest = hn::Set(d, -87.3F);
  const V bounded = hn::Max(x, lowest);
  // Adding 1.5 2^23 leaves the whole number in the low bits.
  const V whole = hn::Set(d, 12582912.0F);
  const V shifted = hn::MulAdd(bounded, hn::Set(d, 1.44269504F), whole);
  const auto parts = exp_parts_of(d, bounded, hn::Sub(shifted, whole));
  // The exponent stays normal, so that it can be added to in place.
  const auto power = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const auto tail = hn::BitCast(di, hn::Add(parts.tail, hn::Set(d, 1.0F)));
  return hn::IfThenElseZero(hn::Gt(x, lowest), hn::BitCast(d, hn::Add(tail, power)));
}

/// exp(x) - 1
template <class D, class V>
HWY_INLINE V expm1_of(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  const auto parts = exp_parts(d, clamped(d, x, -104.0F, 89.0F));
  const V large = hn::Sub(scale_by_power(d, hn::Add(parts.tail, one), parts.n), one);
  return or_nan(x, hn::IfThenElse(hn::Eq(parts.n, hn::Zero(d)), parts.tail, large));
}

template <class D, class V>
HWY_INLINE V sigmoid_of(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, exp_of(d, hn::Neg(x))));
}

template <class D, class V>
HWY_INLINE V tanh_of(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V two = hn::Set(d, 2.0F);
  // Beyond 10 the result is 1 in f32.
  const auto parts = exp_parts(d, hn::Mul(two, hn::Min(hn::Abs(x), hn::Set(d, 10.0F))));
  // With e = exp(2 |x|) - 1 it is e / (e + 2); e = 2^n tail + (2^n - 1) loses nothing near 0.
  const V power =
      hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, parts.n), hn::Set(di, 127))));
  const V e = hn::MulAdd(power, parts.tail, hn::Sub(power, hn::Set(d, 1.0F)));
  return or_nan(x, hn::CopySign(hn::Div(e, hn::Add(e, two)), x));
}

template <class D, class V>
HWY_INLINE V erf_of(D d, V x) {
  constexpr float kSmall[] = {1.128379166e+00F,  -3.761262667e-01F, 1.128359472e-01F,
                              -2.685421201e-02F, 5.189087424e-03F,  -8.016864292e-04F,
                              7.875875079e-05F};
  // ln(1 - erf(x)) for x from 1 to 4.
  constexpr float kLarge[] = {-7.658977832e-04F, -1.125893652e+00F, -6.391412577e-01F,
                              -1.032811176e-01F, 2.260477223e-02F,  -3.432351379e-03F,
                              3.169370222e-04F,  -1.327236180e-05F};
  const V one = hn::Set(d, 1.0F);
  const V magnitude = hn::Min(hn::Abs(x), hn::Set(d, 4.0F));
  const V small = hn::Mul(x, polynomial(d, hn::Mul(x, x), kSmall));
  const auto parts = exp_parts(d, polynomial(d, magnitude, kLarge));
  const V rest = scale_by_power(d, hn::Add(parts.tail, one), parts.n);
  const V large = hn::CopySign(hn::Sub(one, rest), x);
  return or_nan(x, hn::IfThenElse(hn::Lt(magnitude, one), small, large));
}

/// ln(x) of normal positive numbers; unspecified for others.
template <class D, class V>
HWY_INLINE V log_of_normal(D d, V x) {
  constexpr float kTail[] = {3.333333073e-01F,  -2.500030642e-01F, 2.000104509e-01F,
                             -1.664128146e-01F, 1.421449593e-01F,  -1.299818377e-01F,
                             1.262231984e-01F,  -7.902743757e-02F};
  const hn::RebindToSigned<D> di;
  // x = m 2^e with m from sqrt(1/2) to sqrt(2).
  const auto root_half = hn::Set(di, 0x3F3504F3);
  const auto offset = hn::Sub(hn::BitCast(di, x), root_half);
  const V e = hn::ConvertTo(d, hn::ShiftRight<23>(offset));
  const V m = hn::BitCast(d, hn::Add(hn::And(offset, hn::Set(di, 0x7FFFFF)), root_half));
  const V f = hn::Sub(m, hn::Set(d, 1.0F));
  const V square = hn::Mul(f, f);
  V y = hn::Mul(hn::Mul(f, square), polynomial(d, f, kTail));
  y = hn::MulAdd(e, hn::Set(d, -2.12194440e-4F), y);
  y = hn::NegMulAdd(hn::Set(d, 0.5F), square, y);
  return hn::MulAdd(e, hn::Set(d, 0.693359375F), hn::Add(f, y));
}

template <class D, class V>
HWY_INLINE V log_of(D d, V x) {
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto tiny = hn::Lt(x, hn::Set(d, std::numeric_limits<float>::min()));
  const V scaled = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 0x1p24F)), x);
  V y = log_of_normal(d, scaled);
  y = hn::IfThenElse(tiny, hn::Sub(y, hn::Set(d, 16.6355323F)), y);
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), y);
  y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, std::numeric_limits<float>::quiet_NaN()),
                     y);
  return or_nan(x, y);
}

/// ln(1 + exp(x))
template <class D, class V>
HWY_INLINE V softplus_of(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  const auto parts = exp_parts(d, hn::Max(hn::Neg(hn::Abs(x)), hn::Set(d, -104.0F)));
  const V power = scale_by_power(d, hn::Add(parts.tail, one), parts.n);
  const V sum = hn::Add(one, power);
  // What the sum lost, put back to first order.
  const V lost = hn::Sub(power, hn::Sub(sum, one));
  const V tail = hn::Add(log_of_normal(d, sum), hn::Div(lost, sum));
  return or_nan(x, hn::Add(hn::Max(x, hn::Zero(d)), tail));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // GANTRY_CPU_VECTOR_MATH_INL_H_
