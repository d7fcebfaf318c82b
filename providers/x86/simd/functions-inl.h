// SPDX-License-Identifier: Apache-2.0
// Vector functions that propagate NaN, which Highway's do not. Included once for each Highway
// target.
#if defined(GANTRY_X86_DIRECT_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_DIRECT_FUNCTIONS_INL_H_
#undef GANTRY_X86_DIRECT_FUNCTIONS_INL_H_
#else
#define GANTRY_X86_DIRECT_FUNCTIONS_INL_H_
#endif

#include "simd/exponential-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// `result`, but NaN where x is NaN.
HWY_INLINE V32 keep_none(V32 x, V32 result) { return hn::IfThenElse(hn::IsNaN(x), x, result); }

constexpr float kLog2OfE = 1.44269504F;
constexpr float kLeastPower = -126.0F;  // exponent of the least normal number

/// 2^x for x in [kLeastPower, 127], with a relative error below 8e-8: 2^n * 2^r with |r| <= 1 / 2,
/// by a polynomial. Half the instructions of Highway's e^x, which handles any x.
HWY_INLINE V32 power_of_two(V32 x) {
  const F32 d;
  const hn::RebindToSigned<F32> integers;
  const V32 shift = hn::Set(d, 12582912.0F);  // 3 * 2^22: leaves n in the last bits
  const V32 shifted = hn::Add(x, shift);
  const V32 r = hn::Sub(x, hn::Sub(shifted, shift));
  V32 p = hn::MulAdd(r, hn::Set(d, 1.327647129e-3F), hn::Set(d, 9.675540961e-3F));
  p = hn::MulAdd(r, p, hn::Set(d, 5.550713092e-2F));
  p = hn::MulAdd(r, p, hn::Set(d, 2.402212024e-1F));
  p = hn::MulAdd(r, p, hn::Set(d, 6.931469440e-1F));
  p = hn::MulAdd(r, p, hn::Set(d, 1.0F));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(integers, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(integers, p), exponent));
}

/// 1 / x for x in [1, 1e38].
HWY_INLINE V32 reciprocal(V32 x) {
  const F32 d;
  if constexpr (!kHasManyRegisters) return hn::Div(hn::Set(d, 1.0F), x);
  // Dividing 16 lanes takes as long as 30 other instructions. A Newton step makes 28 bits of 14.
  const V32 y = hn::ApproximateReciprocal(x);
  return hn::Mul(y, hn::NegMulAdd(x, y, hn::Set(d, 2.0F)));
}

/// Requires x that is not NaN. Results that would be denormal are 0, so that x * sigmoid(x) is -0
/// for very small x.
HWY_INLINE V32 sigmoid_of_number(V32 x) {
  const F32 d;
  const V32 bound = hn::Set(d, -kLeastPower);
  const V32 power = hn::Mul(x, hn::Set(d, -kLog2OfE));
  const V32 bounded = hn::Max(hn::Neg(bound), hn::Min(bound, power));
  const V32 result = reciprocal(hn::Add(hn::Set(d, 1.0F), power_of_two(bounded)));
  return hn::IfThenZeroElse(hn::Gt(power, bound), result);
}
HWY_INLINE V32 sigmoid(V32 x) { return keep_none(x, sigmoid_of_number(x)); }

/// tanh(x), off by up to 2.5 ULP; Highway's takes more instructions and is off by 2.6. By a
/// polynomial where 1 - 2 / (e^2x + 1) would cancel.
HWY_INLINE V32 hyperbolic_tangent(V32 x) {
  const F32 d;
  constexpr float kFewDigits = 0.625F;
  constexpr float kAllOfOne = 10.0F;  // from where on the result is 1
  const V32 size = hn::Abs(x);
  const V32 square = hn::Mul(x, x);
  V32 p = hn::MulAdd(square, hn::Set(d, -5.70498872745e-3F), hn::Set(d, 2.06390887954e-2F));
  p = hn::MulAdd(square, p, hn::Set(d, -5.37397155531e-2F));
  p = hn::MulAdd(square, p, hn::Set(d, 1.33314422036e-1F));
  p = hn::MulAdd(square, p, hn::Set(d, -3.33332819422e-1F));
  const V32 small = hn::MulAdd(hn::Mul(square, size), p, size);
  const V32 power = hn::Mul(hn::Min(size, hn::Set(d, kAllOfOne)), hn::Set(d, 2 * kLog2OfE));
  const V32 one = hn::Set(d, 1.0F);
  const V32 large =
      hn::NegMulAdd(hn::Set(d, 2.0F), reciprocal(hn::Add(power_of_two(power), one)), one);
  const V32 result = hn::IfThenElse(hn::Lt(size, hn::Set(d, kFewDigits)), small, large);
  return keep_none(x, hn::CopySign(result, x));
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
