// SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {

using SoftmaxTag = hn::ScalableTag<float>;
using SoftmaxVec = hn::Vec<SoftmaxTag>;

/// The rows' incomplete last vectors, with a buffer between.
struct Tail {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];

  HWY_INLINE SoftmaxVec load(const float* x, int64_t count, float rest) {
    const SoftmaxTag d;
    hn::Store(hn::Set(d, rest), d, buffer);
    std::copy_n(x, count, buffer);
    return hn::Load(d, buffer);
  }
  HWY_INLINE void store(SoftmaxVec v, float* y, int64_t count) {
    hn::Store(v, SoftmaxTag(), buffer);
    std::copy_n(buffer, count, y);
  }
};

/// The largest element; NaN if one is.
HWY_INLINE float top_of(const float* x, int64_t n, Tail& tail) {
  const SoftmaxTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  SoftmaxVec top = hn::Set(d, kLowest);
  SoftmaxVec other = top;
  auto has_nan = hn::IsNaN(top);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const SoftmaxVec u = hn::LoadU(d, x + i);
    const SoftmaxVec v = hn::LoadU(d, x + i + lanes);
    // Unordered if either is NaN.
    has_nan = hn::Or(has_nan, hn::IsNaN(hn::Add(u, v)));
    top = hn::Max(top, u);
    other = hn::Max(other, v);
  }
  for (; i < n; i += lanes) {
    const SoftmaxVec u = i + lanes <= n ? hn::LoadU(d, x + i) : tail.load(x + i, n - i, kLowest);
    has_nan = hn::Or(has_nan, hn::IsNaN(u));
    top = hn::Max(top, u);
  }
  if (!hn::AllFalse(d, has_nan)) return std::numeric_limits<float>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(top, other)));
}

/// y = exp(x - top) if kStores; the sum of the powers.
template <bool kStores>
HWY_INLINE float sum_powers(const float* x, float* y, int64_t n, float top, Tail& tail) {
  const SoftmaxTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const SoftmaxVec shift = hn::Set(d, top);
  SoftmaxVec total = hn::Zero(d);
  SoftmaxVec other = total;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const SoftmaxVec u = exp_of_negative(d, hn::Sub(hn::LoadU(d, x + i), shift));
    const SoftmaxVec v = exp_of_negative(d, hn::Sub(hn::LoadU(d, x + i + lanes), shift));
    total = hn::Add(total, u);
    other = hn::Add(other, v);
    if constexpr (kStores) {
      hn::StoreU(u, d, y + i);
      hn::StoreU(v, d, y + i + lanes);
    }
  }
  for (; i < n; i += lanes) {
    const bool is_whole = i + lanes <= n;
    constexpr float kRest = -std::numeric_limits<float>::infinity();
    const SoftmaxVec u = is_whole ? hn::LoadU(d, x + i) : tail.load(x + i, n - i, kRest);
    const SoftmaxVec power = exp_of_negative(d, hn::Sub(u, shift));
    total = hn::Add(total, power);
    if constexpr (kStores) {
      is_whole ? hn::StoreU(power, d, y + i) : tail.store(power, y + i, n - i);
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(total, other)));
}

/// y = f(x)
template <class Function>
HWY_INLINE void map_row(const float* x, float* y, int64_t n, Tail& tail, Function f) {
  const SoftmaxTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  if (i < n) tail.store(f(tail.load(x + i, n - i, 0.0F)), y + i, n - i);
}

int64_t softmax_rows(const float* x, float* y, int64_t n, int64_t rows) {
  const SoftmaxTag d;
  Tail tail;
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const float top = top_of(x, n, tail);
    if (!std::isfinite(top)) return r;
    const SoftmaxVec factor = hn::Set(d, 1.0F / sum_powers<true>(x, y, n, top, tail));
    map_row(y, y, n, tail, [factor](auto v) HWY_ATTR { return hn::Mul(v, factor); });
  }
  return rows;
}

int64_t log_softmax_rows(const float* x, float* y, int64_t n, int64_t rows) {
  const SoftmaxTag d;
  Tail tail;
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const float top = top_of(x, n, tail);
    if (!std::isfinite(top)) return r;
    const SoftmaxVec first = hn::Set(d, top);
    const SoftmaxVec second = hn::Set(d, std::log(sum_powers<false>(x, nullptr, n, top, tail)));
    map_row(x, y, n, tail,
            [first, second](auto v) HWY_ATTR { return hn::Sub(hn::Sub(v, first), second); });
  }
  return rows;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(log_softmax_rows);

int64_t simd::softmax_rows(const float* x, float* y, int64_t n, int64_t rows) {
  return HWY_DYNAMIC_DISPATCH(softmax_rows)(x, y, n, rows);
}
int64_t simd::log_softmax_rows(const float* x, float* y, int64_t n, int64_t rows) {
  return HWY_DYNAMIC_DISPATCH(log_softmax_rows)(x, y, n, rows);
}

}  // namespace gantry::cpu
#endif  // HWY_ONCE
