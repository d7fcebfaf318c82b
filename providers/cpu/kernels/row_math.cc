// SPDX-License-Identifier: Apache-2.0
#include "kernels/row_math.h"

#include <algorithm>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {

using RowTag = hn::ScalableTag<float>;
using RowVec = hn::Vec<RowTag>;

HWY_INLINE RowVec load_first(RowTag d, const float* x, int64_t count, float rest) {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Set(d, rest), d, buffer);
  std::memcpy(buffer, x, static_cast<size_t>(count) * sizeof(float));
  return hn::Load(d, buffer);
}
HWY_INLINE void store_first(RowTag d, RowVec v, float* y, int64_t count) {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, buffer);
  std::memcpy(y, buffer, static_cast<size_t>(count) * sizeof(float));
}

/// Folds x with four running vectors: step(accumulator, v) for each vector, `rest` fills the last
/// one.
template <class Step, class Join>
HWY_INLINE RowVec fold(const float* x, int64_t count, float start, float rest, Step step,
                       Join join) {
  const RowTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  RowVec a = hn::Set(d, start);
  RowVec b = a;
  RowVec c = a;
  RowVec e = a;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = step(a, hn::LoadU(d, x + i));
    b = step(b, hn::LoadU(d, x + i + lanes));
    c = step(c, hn::LoadU(d, x + i + 2 * lanes));
    e = step(e, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) a = step(a, hn::LoadU(d, x + i));
  if (i < count) b = step(b, load_first(d, x + i, count - i, rest));
  return join(join(a, b), join(c, e));
}

float sum(const float* x, int64_t count) {
  const RowTag d;
  const auto add = [](auto a, auto v) HWY_ATTR { return hn::Add(a, v); };
  return hn::GetLane(hn::SumOfLanes(d, fold(x, count, 0.0F, 0.0F, add, add)));
}

float sum_of_squares(const float* x, int64_t count, float center) {
  const RowTag d;
  const RowVec middle = hn::Set(d, center);
  const auto step = [middle](auto a, auto v) HWY_ATTR {
    const auto difference = hn::Sub(v, middle);
    return hn::MulAdd(difference, difference, a);
  };
  const auto add = [](auto a, auto v) HWY_ATTR { return hn::Add(a, v); };
  return hn::GetLane(hn::SumOfLanes(d, fold(x, count, 0.0F, center, step, add)));
}

simd::Moments moments(const float* x, int64_t count, float center) {
  const RowTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const RowVec middle = hn::Set(d, center);
  RowVec first[2] = {hn::Zero(d), hn::Zero(d)};
  RowVec second[2] = {hn::Zero(d), hn::Zero(d)};
  const auto step = [&](int k, RowVec v) HWY_ATTR {
    const RowVec difference = hn::Sub(v, middle);
    first[k] = hn::Add(first[k], difference);
    second[k] = hn::MulAdd(difference, difference, second[k]);
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    step(0, hn::LoadU(d, x + i));
    step(1, hn::LoadU(d, x + i + lanes));
  }
  for (; i < count; i += lanes)
    step(0, i + lanes <= count ? hn::LoadU(d, x + i) : load_first(d, x + i, count - i, center));
  return {hn::GetLane(hn::SumOfLanes(d, hn::Add(first[0], first[1]))),
          hn::GetLane(hn::SumOfLanes(d, hn::Add(second[0], second[1])))};
}

float sum_of_magnitudes(const float* x, int64_t count) {
  const RowTag d;
  const auto step = [](auto a, auto v) HWY_ATTR { return hn::Add(a, hn::Abs(v)); };
  const auto add = [](auto a, auto v) HWY_ATTR { return hn::Add(a, v); };
  return hn::GetLane(hn::SumOfLanes(d, fold(x, count, 0.0F, 0.0F, step, add)));
}

/// `v` where it comes before `a` or is NaN; a NaN in `a` stays.
template <class Before>
HWY_INLINE RowVec extreme_of(RowVec a, RowVec v, Before before) {
  return hn::IfThenElse(hn::Or(before(v, a), hn::IsNaN(v)), v, a);
}

float largest(const float* x, int64_t count) {
  const RowTag d;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const auto step = [](auto a, auto v) HWY_ATTR {
    return extreme_of(a, v, [](auto p, auto q) HWY_ATTR { return hn::Gt(p, q); });
  };
  const RowVec folded = fold(x, count, kLowest, kLowest, step, step);
  if (!hn::AllFalse(d, hn::IsNaN(folded))) return std::numeric_limits<float>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(d, folded));
}

float smallest(const float* x, int64_t count) {
  const RowTag d;
  constexpr float kHighest = std::numeric_limits<float>::infinity();
  const auto step = [](auto a, auto v) HWY_ATTR {
    return extreme_of(a, v, [](auto p, auto q) HWY_ATTR { return hn::Lt(p, q); });
  };
  const RowVec folded = fold(x, count, kHighest, kHighest, step, step);
  if (!hn::AllFalse(d, hn::IsNaN(folded))) return std::numeric_limits<float>::quiet_NaN();
  return hn::GetLane(hn::MinOfLanes(d, folded));
}

float exp_shifted(const float* x, float* y, int64_t count, float shift) {
  const RowTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const RowVec top = hn::Set(d, shift);
  RowVec total = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const RowVec power = exp_of_negative(d, hn::Sub(hn::LoadU(d, x + i), top));
    total = hn::Add(total, power);
    hn::StoreU(power, d, y + i);
  }
  float result = hn::GetLane(hn::SumOfLanes(d, total));
  if (i < count) {
    HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(exp_of_negative(d, hn::Sub(load_first(d, x + i, count - i, shift), top)), d, buffer);
    for (int64_t k = 0; k < count - i; ++k) {
      y[i + k] = buffer[k];
      result += buffer[k];
    }
  }
  return result;
}

void affine(const float* x, float* y, int64_t count, float scale, float offset) {
  const RowTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const RowVec factor = hn::Set(d, scale);
  const RowVec shift = hn::Set(d, offset);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::MulAdd(hn::LoadU(d, x + i), factor, shift), d, y + i);
  if (i < count) {
    store_first(d, hn::MulAdd(load_first(d, x + i, count - i, 0.0F), factor, shift), y + i,
                count - i);
  }
}

void standardize(const float* x, float* y, int64_t count, float center, float factor,
                 float offset) {
  const RowTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const RowVec middle = hn::Set(d, center);
  const RowVec f = hn::Set(d, factor);
  const RowVec shift = hn::Set(d, offset);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, x + i), middle), f, shift), d, y + i);
  if (i < count) {
    const RowVec rest = hn::Sub(load_first(d, x + i, count - i, 0.0F), middle);
    store_first(d, hn::MulAdd(rest, f, shift), y + i, count - i);
  }
}

void normalize(const float* x, float* y, int64_t count, float center, float factor,
               const float* scale, const float* bias) {
  const RowTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const RowVec middle = hn::Set(d, center);
  const RowVec f = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    RowVec v = hn::Mul(hn::Sub(hn::LoadU(d, x + i), middle), f);
    if (scale) v = hn::Mul(v, hn::LoadU(d, scale + i));
    if (bias) v = hn::Add(v, hn::LoadU(d, bias + i));
    hn::StoreU(v, d, y + i);
  }
  for (; i < count; ++i) {
    const float v = (x[i] - center) * factor * (scale ? scale[i] : 1.0F);
    y[i] = bias ? v + bias[i] : v;
  }
}

void taps(const float* x, const int64_t* offsets, const float* weights, int64_t tap_count,
          float bias, float* y, int64_t count) {
  const RowTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    RowVec a = hn::Set(d, bias);
    RowVec b = a;
    RowVec c = a;
    RowVec e = a;
    for (int64_t t = 0; t < tap_count; ++t) {
      const RowVec w = hn::Set(d, weights[t]);
      const float* from = x + offsets[t] + i;
      a = hn::MulAdd(w, hn::LoadU(d, from), a);
      b = hn::MulAdd(w, hn::LoadU(d, from + lanes), b);
      c = hn::MulAdd(w, hn::LoadU(d, from + 2 * lanes), c);
      e = hn::MulAdd(w, hn::LoadU(d, from + 3 * lanes), e);
    }
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + i + lanes);
    hn::StoreU(c, d, y + i + 2 * lanes);
    hn::StoreU(e, d, y + i + 3 * lanes);
  }
  for (; i < count; i += lanes) {
    RowVec a = hn::Set(d, bias);
    for (int64_t t = 0; t < tap_count; ++t) {
      a = hn::MulAdd(hn::Set(d, weights[t]), hn::LoadU(d, x + offsets[t] + i), a);
    }
    if (i + lanes <= count) {
      hn::StoreU(a, d, y + i);
    } else {
      store_first(d, a, y + i, count - i);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

HWY_EXPORT(sum);
HWY_EXPORT(sum_of_squares);
HWY_EXPORT(moments);
HWY_EXPORT(sum_of_magnitudes);
HWY_EXPORT(largest);
HWY_EXPORT(smallest);
HWY_EXPORT(exp_shifted);
HWY_EXPORT(affine);
HWY_EXPORT(standardize);
HWY_EXPORT(normalize);
HWY_EXPORT(taps);

float simd::sum(const float* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(sum)(x, count); }
float simd::sum_of_squares(const float* x, int64_t count, float center) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares)(x, count, center);
}
simd::Moments simd::moments(const float* x, int64_t count, float center) {
  return HWY_DYNAMIC_DISPATCH(moments)(x, count, center);
}
float simd::sum_of_magnitudes(const float* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_of_magnitudes)(x, count);
}
float simd::largest(const float* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(largest)(x, count);
}
float simd::smallest(const float* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(smallest)(x, count);
}
float simd::exp_shifted(const float* x, float* y, int64_t count, float shift) {
  return HWY_DYNAMIC_DISPATCH(exp_shifted)(x, y, count, shift);
}
void simd::affine(const float* x, float* y, int64_t count, float scale, float offset) {
  HWY_DYNAMIC_DISPATCH(affine)(x, y, count, scale, offset);
}
void simd::standardize(const float* x, float* y, int64_t count, float center, float factor,
                       float offset) {
  HWY_DYNAMIC_DISPATCH(standardize)(x, y, count, center, factor, offset);
}
void simd::normalize(const float* x, float* y, int64_t count, float center, float factor,
                     const float* scale, const float* bias) {
  HWY_DYNAMIC_DISPATCH(normalize)(x, y, count, center, factor, scale, bias);
}
void simd::taps(const float* x, const int64_t* offsets, const float* weights, int64_t tap_count,
                float bias, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(taps)(x, offsets, weights, tap_count, bias, y, count);
}

}  // namespace gantry::cpu
#endif  // HWY_ONCE
