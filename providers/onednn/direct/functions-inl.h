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

/// Of what is a number; the bound keeps the result a normal one.
HWY_INLINE V32 sigmoid_of_number(V32 x) {
  const F32 d;
  const V32 one = hn::Set(d, 1.0F);
  const V32 power = hn::Exp(d, hn::Min(hn::Set(d, 87.0F), hn::Neg(x)));
  return hn::Div(one, hn::Add(one, power));
}
HWY_INLINE V32 sigmoid(V32 x) { return keep_none(x, sigmoid_of_number(x)); }
HWY_INLINE V32 hyperbolic_tangent(V32 x) { return keep_none(x, hn::Tanh(F32(), x)); }

}  // namespace gantry::onednn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
