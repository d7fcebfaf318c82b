// SPDX-License-Identifier: Apache-2.0
#include "image/tap_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/tap_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void sum_taps(const float* x, const simd::PointTaps& points, float* y, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t p = 0;
  for (; p + lanes <= count; p += lanes) {
    auto sum = hn::Zero(d);
    for (int64_t t = 0; t < points.taps; ++t) {
      const auto offset = hn::LoadU(di, points.offsets + t * points.pitch + p);
      const auto inside = hn::RebindMask(d, hn::Gt(offset, hn::Set(di, -1)));
      // For padding element 0 is loaded and masked. A weight of 0 would not do, since the element
      // may be infinite.
      const auto element = hn::GatherIndex(d, x, hn::Max(offset, hn::Zero(di)));
      const auto weight = hn::LoadU(d, points.weights + t * points.pitch + p);
      sum = hn::MulAdd(weight, hn::IfThenElseZero(inside, element), sum);
    }
    hn::StoreU(sum, d, y + p);
  }
  for (; p < count; ++p) {
    float sum = 0;
    for (int64_t t = 0; t < points.taps; ++t) {
      const int32_t offset = points.offsets[t * points.pitch + p];
      if (offset >= 0) sum += points.weights[t * points.pitch + p] * x[offset];
    }
    y[p] = sum;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

HWY_EXPORT(sum_taps);
void simd::sum_taps(const float* x, const PointTaps& points, float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(sum_taps)(x, points, y, count);
}

}  // namespace gantry::cpu
#endif  // HWY_ONCE
