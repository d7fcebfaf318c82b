// SPDX-License-Identifier: Apache-2.0
#include "elementwise/code.h"

#include "direct/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "elementwise/code.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "direct/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::onednn::HWY_NAMESPACE {

static_assert(kTileStep % kLanes == 0);

/// Infinity from where the result is no float any more.
HWY_INLINE V32 exponential(V32 x) {
  const F32 d;
  const V32 most = hn::Set(d, 88.7228394F);
  const V32 power = hn::Exp(d, hn::Min(most, x));
  return keep_none(x, hn::IfThenElse(hn::Gt(x, most), hn::Inf(d), power));
}

/// x / 2 * (1 + tanh(u)), which is x * sigmoid(2 * u), with u = sqrt(2 / pi) * (x + 0.044715 *
/// x^3).
HWY_INLINE V32 gelu(V32 x) {
  const F32 d;
  const V32 factor = hn::Set(d, 1.59576912F);  // 2 * sqrt(2 / pi)
  const V32 cubes = hn::Set(d, 1.59576912F * 0.044715F);
  const V32 power = hn::Mul(x, hn::MulAdd(hn::Mul(x, x), cubes, factor));
  // Far below zero the gate is 0, and infinity times that would be no number.
  const V32 y = hn::Mul(hn::Max(x, hn::Set(d, -100.0F)), sigmoid_of_number(power));
  return keep_none(x, y);
}

/// x / 2 * (1 + erf(x / sqrt(2))), by Abramowitz and Stegun, Handbook of Mathematical Functions,
/// 7.1.26, whose error is below 2e-7: 1 - erf(z) = t * p(t) * exp(-z^2), t = 1 / (1 + 0.3275911 *
/// z) for z >= 0. Below zero the sum is that complement itself, so that nothing cancels.
HWY_INLINE V32 gelu_erf(V32 x) {
  const F32 d;
  const V32 size = hn::Min(hn::Abs(x), hn::Set(d, 100.0F));  // infinity times 0 is no number
  const V32 t = reciprocal(hn::MulAdd(size, hn::Set(d, 0.23164189F), hn::Set(d, 1.0F)));
  V32 p = hn::MulAdd(t, hn::Set(d, 1.061405429F), hn::Set(d, -1.453152027F));
  p = hn::MulAdd(t, p, hn::Set(d, 1.421413741F));
  p = hn::MulAdd(t, p, hn::Set(d, -0.284496736F));
  p = hn::MulAdd(t, p, hn::Set(d, 0.254829592F));
  const V32 power = hn::Max(hn::Set(d, -87.0F), hn::Mul(hn::Mul(size, size), hn::Set(d, -0.5F)));
  const V32 rest =
      hn::Mul(hn::Mul(hn::Mul(t, p), hn::Mul(size, hn::Set(d, 0.5F))), bounded_exponential(power));
  return keep_none(x, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Neg(rest), hn::Sub(x, rest)));
}

HWY_INLINE V32 gate(V32 x, V32 alpha, V32 beta) {
  const F32 d;
  V32 y = hn::MulAdd(x, alpha, beta);
  y = hn::IfThenZeroElse(hn::Lt(y, hn::Zero(d)), y);
  return hn::IfThenElse(hn::Gt(y, hn::Set(d, 1.0F)), hn::Set(d, 1.0F), y);
}

template <class Function>
HWY_INLINE void map_one(const float* a, float* to, int64_t count, Function function) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += lanes) hn::StoreU(function(hn::LoadU(d, a + i)), d, to + i);
}

template <class Function>
HWY_INLINE void map_two(const float* a, const float* b, float* to, int64_t count,
                        Function function) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += lanes)
    hn::StoreU(function(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, to + i);
}

void run_two(const Instruction& at, const float* a, const float* b, float* to, int64_t n) {
  switch (at.operation) {
    case Operation::kAdd:
      return map_two(a, b, to, n, [](V32 x, V32 y) HWY_ATTR { return hn::Add(x, y); });
    case Operation::kSub:
      return map_two(a, b, to, n, [](V32 x, V32 y) HWY_ATTR { return hn::Sub(x, y); });
    case Operation::kMul:
      return map_two(a, b, to, n, [](V32 x, V32 y) HWY_ATTR { return hn::Mul(x, y); });
    case Operation::kDiv:
      return map_two(a, b, to, n, [](V32 x, V32 y) HWY_ATTR { return hn::Div(x, y); });
    case Operation::kMax:
      return map_two(a, b, to, n, [](V32 x, V32 y) HWY_ATTR {
        return keep_none(y, keep_none(x, hn::Max(x, y)));
      });
    default:  // kMin
      return map_two(a, b, to, n, [](V32 x, V32 y) HWY_ATTR {
        return keep_none(y, keep_none(x, hn::Min(x, y)));
      });
  }
}

void run_one(const Instruction& at, const float* a, float* to, int64_t n) {
  const F32 d;
  const V32 alpha = hn::Set(d, at.alpha);
  const V32 beta = hn::Set(d, at.beta);
  switch (at.operation) {
    case Operation::kNeg:
      return map_one(a, to, n, [](V32 x) HWY_ATTR { return hn::Neg(x); });
    case Operation::kAbs:
      return map_one(a, to, n, [](V32 x) HWY_ATTR { return hn::Abs(x); });
    case Operation::kSquare:
      return map_one(a, to, n, [](V32 x) HWY_ATTR { return hn::Mul(x, x); });
    case Operation::kCube:
      return map_one(a, to, n, [](V32 x) HWY_ATTR { return hn::Mul(hn::Mul(x, x), x); });
    case Operation::kSqrt:
      return map_one(a, to, n, [](V32 x) HWY_ATTR { return hn::Sqrt(x); });
    case Operation::kReciprocal:
      return map_one(a, to, n, [](V32 x) HWY_ATTR { return hn::Div(hn::Set(F32(), 1.0F), x); });
    case Operation::kExp:
      return map_one(a, to, n, [](V32 x) HWY_ATTR { return exponential(x); });
    case Operation::kSigmoid:
      return map_one(a, to, n, [](V32 x) HWY_ATTR { return sigmoid(x); });
    case Operation::kTanh:
      return map_one(a, to, n, [](V32 x) HWY_ATTR { return hyperbolic_tangent(x); });
    case Operation::kGelu:
      return map_one(a, to, n, [](V32 x) HWY_ATTR { return gelu(x); });
    case Operation::kGeluErf:
      return map_one(a, to, n, [](V32 x) HWY_ATTR { return gelu_erf(x); });
    case Operation::kRelu:
      return map_one(a, to, n, [](V32 x) HWY_ATTR {
        return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(F32())), x);
      });
    case Operation::kLeakyRelu:
      return map_one(a, to, n, [=](V32 x) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), hn::Mul(x, alpha), x);
      });
    case Operation::kClip:
      return map_one(a, to, n, [=](V32 x) HWY_ATTR {
        x = hn::IfThenElse(hn::Lt(x, alpha), alpha, x);
        return hn::IfThenElse(hn::Gt(x, beta), beta, x);
      });
    case Operation::kHardSigmoid:
      return map_one(a, to, n, [=](V32 x) HWY_ATTR { return gate(x, alpha, beta); });
    default:  // kHardSwish
      return map_one(a, to, n, [=](V32 x) HWY_ATTR { return hn::Mul(x, gate(x, alpha, beta)); });
  }
}

void run_instructions_here(const std::vector<Instruction>& instructions, float* const* places,
                           int64_t count) {
  for (const Instruction& at : instructions) {
    if (at.operation <= Operation::kMin) {
      run_two(at, places[at.a], places[at.b], places[at.to], count);
    } else {
      run_one(at, places[at.a], places[at.to], count);
    }
  }
}

}  // namespace gantry::onednn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::onednn {

HWY_EXPORT(run_instructions_here);

void run_instructions(const std::vector<Instruction>& instructions, float* const* places,
                      int64_t count) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(run_instructions_here)(instructions, places, count);
}

}  // namespace gantry::onednn
#endif
