// SPDX-License-Identifier: Apache-2.0
#include "eltwise/code.h"

#include <limits>

#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "eltwise/code.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

static_assert(kTileStep % kLanes == 0);

/// exp(x); infinity if it exceeds the largest float. NaN stays NaN.
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
  return hn::Mul(x, sigmoid_of_number(power));
}

/// x * Phi(x), where Phi(x) = (1 + erf(x / sqrt(2))) / 2 is the standard normal distribution. For z
/// = |x|, Phi(-z) is 2 to the power of a polynomial, whose coefficients minimise the error of z *
/// Phi(-z), below 1e-7. Its constant term is exact, so that tiny x are halved.
HWY_INLINE V32 gelu_erf(V32 x) {
  const F32 d;
  const V32 z = hn::Min(hn::Abs(x), hn::Set(d, 10.0F));  // beyond it Phi(-z) is below 1e-22
  V32 q = hn::MulAdd(z, hn::Set(d, -2.223847559e-7F), hn::Set(d, 4.166106464e-6F));
  q = hn::MulAdd(z, q, hn::Set(d, 1.882326842e-6F));
  q = hn::MulAdd(z, q, hn::Set(d, -6.486902712e-4F));
  q = hn::MulAdd(z, q, hn::Set(d, 7.821299136e-3F));
  q = hn::MulAdd(z, q, hn::Set(d, -5.309788883e-2F));
  q = hn::MulAdd(z, q, hn::Set(d, -4.589760303e-1F));
  q = hn::MulAdd(z, q, hn::Set(d, -1.15113771F));
  q = hn::MulAdd(z, q, hn::Set(d, -1.0F));
  const V32 y = hn::NegMulAdd(z, power_of_two(q), hn::Max(x, hn::Zero(d)));
  // By definition minus infinity gives NaN (times 0). NaN stays NaN, because Ge is false for it.
  const V32 least = hn::Set(d, std::numeric_limits<float>::lowest());
  return hn::IfThenElse(hn::Ge(x, least), y, hn::NaN(d));
}

HWY_INLINE V32 gate(V32 x, V32 alpha, V32 beta) {
  const F32 d;
  V32 y = hn::MulAdd(x, alpha, beta);
  y = hn::IfThenZeroElse(hn::Lt(y, hn::Zero(d)), y);
  return hn::IfThenElse(hn::Gt(y, hn::Set(d, 1.0F)), hn::Set(d, 1.0F), y);
}

HWY_INLINE V32 elu(V32 x, V32 alpha) {
  const F32 d;
  // The comparison is false for NaN.
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(alpha, hn::Expm1(d, x)), x);
}

/// tanh(ln(1 + e)) is (e^2 + 2 * e) / (e^2 + 2 * e + 2), which is 1 from e^20 on.
HWY_INLINE V32 mish(V32 x) {
  const F32 d;
  const V32 e = hn::Exp(d, hn::Min(x, hn::Set(d, 20.0F)));
  const V32 n = hn::Mul(e, hn::Add(e, hn::Set(d, 2.0F)));
  return keep_none(x, hn::Mul(x, hn::Div(n, hn::Add(n, hn::Set(d, 2.0F)))));
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
    case Operation::kSwish:
      return map_one(a, to, n,
                     [=](V32 x) HWY_ATTR { return hn::Mul(x, sigmoid(hn::Mul(x, alpha))); });
    case Operation::kElu:
      return map_one(a, to, n, [=](V32 x) HWY_ATTR { return elu(x, alpha); });
    case Operation::kMish:
      return map_one(a, to, n, [](V32 x) HWY_ATTR { return mish(x); });
    default:  // kHardSwish
      return map_one(a, to, n, [=](V32 x) HWY_ATTR { return hn::Mul(x, gate(x, alpha, beta)); });
  }
}

void run_instructions_here(const std::vector<Instruction>& instructions, float* const* slots,
                           int64_t count) {
  for (const Instruction& at : instructions) {
    if (at.operation <= Operation::kMin) {
      run_two(at, slots[at.a], slots[at.b], slots[at.to], count);
    } else {
      run_one(at, slots[at.a], slots[at.to], count);
    }
  }
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(run_instructions_here);

void run_instructions(const std::vector<Instruction>& instructions, float* const* slots,
                      int64_t count) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(run_instructions_here)(instructions, slots, count);
}

}  // namespace gantry::x86
#endif
