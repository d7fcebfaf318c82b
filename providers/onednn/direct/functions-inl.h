// SPDX-License-Identifier: Apache-2.0
// Functions of vectors, for one of Highway's targets: included again for each. What is not a number
// stays so, where Highway's functions make something of it.
#if defined(GANTRY_ONEDNN_DIRECT_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_ONEDNN_DIRECT_FUNCTIONS_INL_H_
#undef GANTRY_ONEDNN_DIRECT_FUNCTIONS_INL_H_
#else
#define GANTRY_ONEDNN_DIRECT_FUNCTIONS_INL_H_
#endif

#include "attention/exponential-inl.h"
#include "direct/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::onednn::HWY_NAMESPACE {

HWY_INLINE V32 keep_none(V32 x, V32 result) { return hn::IfThenElse(hn::IsNaN(x), x, result); }

/// e^x of what is between -87 and 87: 2^n * e^r with |r| <= ln(2) / 2, by the polynomial of Cephes'
/// expf. Half the instructions of Highway's function, which knows what is beyond.
HWY_INLINE V32 bounded_exponential(V32 x) {
  const F32 d;
  const hn::RebindToSigned<F32> integers;
  const V32 n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504F)));
  V32 r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);  // ln(2) in two parts
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  V32 p = hn::MulAdd(r, hn::Set(d, 1.9875691500e-4F), hn::Set(d, 1.3981999507e-3F));
  p = hn::MulAdd(r, p, hn::Set(d, 8.3334519073e-3F));
  p = hn::MulAdd(r, p, hn::Set(d, 4.1665795894e-2F));
  p = hn::MulAdd(r, p, hn::Set(d, 1.6666665459e-1F));
  p = hn::MulAdd(r, p, hn::Set(d, 5.0000001201e-1F));
  p = hn::MulAdd(hn::Mul(r, r), p, hn::Add(r, hn::Set(d, 1.0F)));
  const auto exponent = hn::ShiftLeft<23>(hn::ConvertTo(integers, n));
  return hn::BitCast(d, hn::Add(hn::BitCast(integers, p), exponent));
}

/// 1 / x of what is between 1 and 1e38.
HWY_INLINE V32 reciprocal(V32 x) {
  const F32 d;
  if constexpr (!kHasManyRegisters) return hn::Div(hn::Set(d, 1.0F), x);
  // Dividing 16 numbers takes as long as 30 other instructions; 14 bits become 28.
  const V32 y = hn::ApproximateReciprocal(x);
  return hn::Mul(y, hn::NegMulAdd(x, y, hn::Set(d, 2.0F)));
}

/// Of what is a number; the bounds keep the result a normal one.
HWY_INLINE V32 sigmoid_of_number(V32 x) {
  const F32 d;
  const V32 bound = hn::Set(d, 87.0F);
  const V32 bounded = hn::Max(hn::Neg(bound), hn::Min(bound, hn::Neg(x)));
  return reciprocal(hn::Add(hn::Set(d, 1.0F), bounded_exponential(bounded)));
}
HWY_INLINE V32 sigmoid(V32 x) { return keep_none(x, sigmoid_of_number(x)); }
HWY_INLINE V32 hyperbolic_tangent(V32 x) { return keep_none(x, hn::Tanh(F32(), x)); }

}  // namespace gantry::onednn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
