// SPDX-License-Identifier: Apache-2.0
#include "kernels/pool_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct LargerOf {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
  }
  float operator()(float a, float b) const { return b > a || b != b ? b : a; }
};
struct SumOf {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
  float operator()(float a, float b) const { return a + b; }
};

/// One vector of windows, the first of which begins at `row`.
template <class D, class Join>
HWY_INLINE hn::Vec<D> windows(D d, const float* row, const simd::Slide& slide, Join join) {
  hn::Vec<D> even;
  hn::Vec<D> odd;
  if (slide.stride == 1) {
    even = hn::LoadU(d, row);
    for (int64_t k = 1; k < slide.taps; ++k)
      even = join(even, hn::LoadU(d, row + k * slide.dilation));
    return even;
  }
  hn::LoadInterleaved2(d, row, even, odd);
  hn::Vec<D> joined = even;
  for (int64_t k = 1; k < slide.taps; ++k) {
    if (k % 2 == 0) hn::LoadInterleaved2(d, row + k, even, odd);
    joined = join(joined, k % 2 == 0 ? even : odd);
  }
  return joined;
}

/// Whole vectors of `d`, the last over what is done; false if there are fewer windows than that.
template <class D, class Join>
HWY_INLINE bool slide_vectors(D d, const float* row, const simd::Slide& slide, float* y,
                              int64_t count, Join join) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count < lanes) return false;
  int64_t o = 0;
  for (; o + lanes <= count; o += lanes)
    hn::StoreU(windows(d, row + o * slide.stride, slide, join), d, y + o);
  const int64_t last = count - lanes;
  if (o < count) hn::StoreU(windows(d, row + last * slide.stride, slide, join), d, y + last);
  return true;
}

template <class Join>
HWY_INLINE void slide_any(const float* row, const simd::Slide& slide, float* y, int64_t count,
                          Join join) {
  if (slide_vectors(hn::ScalableTag<float>(), row, slide, y, count, join)) return;
  if (slide_vectors(hn::CappedTag<float, 8>(), row, slide, y, count, join)) return;
  if (slide_vectors(hn::CappedTag<float, 4>(), row, slide, y, count, join)) return;
  for (int64_t o = 0; o < count; ++o) {
    float joined = row[o * slide.stride];
    for (int64_t k = 1; k < slide.taps; ++k)
      joined = join(joined, row[o * slide.stride + k * slide.dilation]);
    y[o] = joined;
  }
}

/// row = join(row, x), element by element.
template <class Join>
HWY_INLINE void join_rows(float* row, const float* x, int64_t count, Join join) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(join(hn::LoadU(d, row + i), hn::LoadU(d, x + i)), d, row + i);
  for (; i < count; ++i) row[i] = join(row[i], x[i]);
}

void slide_maximum(const float* row, const simd::Slide& slide, float* y, int64_t count) {
  slide_any(row, slide, y, count, LargerOf());
}
void slide_sum(const float* row, const simd::Slide& slide, float* y, int64_t count) {
  slide_any(row, slide, y, count, SumOf());
}
void raise(float* row, const float* x, int64_t count) { join_rows(row, x, count, LargerOf()); }

struct AddSquare {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::MulAdd(b, b, a);
  }
  float operator()(float a, float b) const { return a + b * b; }
};
void add_squares(float* row, const float* x, int64_t count) {
  join_rows(row, x, count, AddSquare());
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

HWY_EXPORT(slide_maximum);
void simd::slide_maximum(const float* row, const Slide& slide, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(slide_maximum)(row, slide, y, count);
}
HWY_EXPORT(slide_sum);
void simd::slide_sum(const float* row, const Slide& slide, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(slide_sum)(row, slide, y, count);
}
HWY_EXPORT(raise);
void simd::raise(float* row, const float* x, int64_t count) {
  HWY_DYNAMIC_DISPATCH(raise)(row, x, count);
}
HWY_EXPORT(add_squares);
void simd::add_squares(float* row, const float* x, int64_t count) {
  HWY_DYNAMIC_DISPATCH(add_squares)(row, x, count);
}

}  // namespace gantry::cpu
#endif  // HWY_ONCE
