// SPDX-License-Identifier: Apache-2.0
#include "simd/row_math.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/row_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/vector_loops-inl.h"
#include "simd/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {

using RowTag = hn::ScalableTag<float>;
using RowVec = hn::Vec<RowTag>;

/// Reduces x with four accumulators: step(accumulator, v) for each vector. Unused lanes of the last
/// vector are `rest`.
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
  if (i < count) b = step(b, load_partial(d, x + i, count - i, rest));
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
    step(0, i + lanes <= count ? hn::LoadU(d, x + i) : load_partial(d, x + i, count - i, center));
  return {hn::GetLane(hn::SumOfLanes(d, hn::Add(first[0], first[1]))),
          hn::GetLane(hn::SumOfLanes(d, hn::Add(second[0], second[1])))};
}

float sum_of_magnitudes(const float* x, int64_t count) {
  const RowTag d;
  const auto step = [](auto a, auto v) HWY_ATTR { return hn::Add(a, hn::Abs(v)); };
  const auto add = [](auto a, auto v) HWY_ATTR { return hn::Add(a, v); };
  return hn::GetLane(hn::SumOfLanes(d, fold(x, count, 0.0F, 0.0F, step, add)));
}

void affine(const float* x, float* y, int64_t count, float scale, float offset) {
  map(x, y, count, [=](auto d, auto v) HWY_ATTR {
    return hn::MulAdd(v, hn::Set(d, scale), hn::Set(d, offset));
  });
}

void standardize(const float* x, float* y, int64_t count, float center, float factor,
                 float offset) {
  map(x, y, count, [=](auto d, auto v) HWY_ATTR {
    return hn::MulAdd(hn::Sub(v, hn::Set(d, center)), hn::Set(d, factor), hn::Set(d, offset));
  });
}

HWY_NOINLINE bool has_nan(const float* x, int64_t count) {
  return std::any_of(x, x + count, [](float element) { return element != element; });
}

/// The largest or smallest element: `join` is hn::Max or hn::Min, `join_lanes` the same over lanes.
/// NaN if an element is NaN.
template <class Join, class JoinLanes>
HWY_INLINE float extreme(const float* x, int64_t count, float start, Join join,
                         JoinLanes join_lanes) {
  const RowTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  RowVec a = hn::Set(d, start);
  RowVec b = a;
  auto is_suspect = hn::IsNaN(a);
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const RowVec p = hn::LoadU(d, x + i);
    const RowVec q = hn::LoadU(d, x + i + lanes);
    // One comparison for two vectors: their sum is NaN if either has NaN, and also for opposite
    // infinities.
    is_suspect = hn::Or(is_suspect, hn::IsNaN(hn::Add(p, q)));
    a = join(a, p);
    b = join(b, q);
  }
  for (; i < count; i += lanes) {
    const RowVec p =
        i + lanes <= count ? hn::LoadU(d, x + i) : load_partial(d, x + i, count - i, start);
    is_suspect = hn::Or(is_suspect, hn::IsNaN(p));
    a = join(a, p);
  }
  const float result = hn::GetLane(join_lanes(join(a, b)));
  if (HWY_LIKELY(hn::AllFalse(d, is_suspect)) || !has_nan(x, count)) return result;
  return std::numeric_limits<float>::quiet_NaN();
}

HWY_INLINE float largest_of(const float* x, int64_t count) {
  return extreme(
      x, count, -std::numeric_limits<float>::infinity(),
      [](RowVec u, RowVec v) HWY_ATTR { return hn::Max(u, v); },
      [](RowVec v) HWY_ATTR { return hn::MaxOfLanes(RowTag(), v); });
}

float largest(const float* x, int64_t count) { return largest_of(x, count); }

float smallest(const float* x, int64_t count) {
  return extreme(
      x, count, std::numeric_limits<float>::infinity(),
      [](RowVec u, RowVec v) HWY_ATTR { return hn::Min(u, v); },
      [](RowVec v) HWY_ATTR { return hn::MinOfLanes(RowTag(), v); });
}

/// The sum of exp(x - shift); the terms are stored in y if kStores.
template <bool kStores>
HWY_INLINE float sum_exp_of(const float* x, float* y, int64_t count, float shift) {
  const RowTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const RowVec top = hn::Set(d, shift);
  RowVec total = hn::Zero(d);
  RowVec other = total;
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const RowVec u = exp_of_negative(d, hn::Sub(hn::LoadU(d, x + i), top));
    const RowVec v = exp_of_negative(d, hn::Sub(hn::LoadU(d, x + i + lanes), top));
    total = hn::Add(total, u);
    other = hn::Add(other, v);
    if constexpr (kStores) {
      hn::StoreU(u, d, y + i);
      hn::StoreU(v, d, y + i + lanes);
    }
  }
  for (; i < count; i += lanes) {
    const bool is_whole = i + lanes <= count;
    constexpr float kRest = -std::numeric_limits<float>::infinity();
    const RowVec u = is_whole ? hn::LoadU(d, x + i) : load_partial(d, x + i, count - i, kRest);
    const RowVec power = exp_of_negative(d, hn::Sub(u, top));
    total = hn::Add(total, power);
    if constexpr (kStores)
      is_whole ? hn::StoreU(power, d, y + i) : store_partial(d, power, y + i, count - i);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(total, other)));
}

float exp_shifted(const float* x, float* y, int64_t count, float shift) {
  return sum_exp_of<true>(x, y, count, shift);
}

float sum_exp(const float* x, int64_t count, float shift) {
  return sum_exp_of<false>(x, nullptr, count, shift);
}

int64_t softmax_rows(const float* x, float* y, int64_t n, int64_t rows) {
  const RowTag d;
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const float top = largest_of(x, n);
    if (!std::isfinite(top)) return r;
    const RowVec factor = hn::Set(d, 1.0F / sum_exp_of<true>(x, y, n, top));
    map(y, y, n, [=](auto /*d*/, auto v) HWY_ATTR { return hn::Mul(v, factor); });
  }
  return rows;
}

int64_t log_softmax_rows(const float* x, float* y, int64_t n, int64_t rows) {
  const RowTag d;
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const float top = largest_of(x, n);
    if (!std::isfinite(top)) return r;
    const RowVec first = hn::Set(d, top);
    const RowVec second = hn::Set(d, std::log(sum_exp_of<false>(x, nullptr, n, top)));
    map(x, y, n, [=](auto /*d*/, auto v) HWY_ATTR { return hn::Sub(hn::Sub(v, first), second); });
  }
  return rows;
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
      store_partial(d, a, y + i, count - i);
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
HWY_EXPORT(sum_exp);
HWY_EXPORT(softmax_rows);
HWY_EXPORT(log_softmax_rows);
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
float simd::sum_exp(const float* x, int64_t count, float shift) {
  return HWY_DYNAMIC_DISPATCH(sum_exp)(x, count, shift);
}
int64_t simd::softmax_rows(const float* x, float* y, int64_t n, int64_t rows) {
  return HWY_DYNAMIC_DISPATCH(softmax_rows)(x, y, n, rows);
}
int64_t simd::log_softmax_rows(const float* x, float* y, int64_t n, int64_t rows) {
  return HWY_DYNAMIC_DISPATCH(log_softmax_rows)(x, y, n, rows);
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
