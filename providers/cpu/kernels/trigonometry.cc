// SPDX-License-Identifier: Apache-2.0
#include "kernels/trigonometry.h"

#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/trigonometry.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format off: after the file that includes this one again
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TrigTag = hn::ScalableTag<float>;
using TrigVec = hn::Vec<TrigTag>;

/// y = function(x), a vector at a time; an incomplete last one goes through a buffer of zeros.
template <class Function>
HWY_INLINE void for_vectors(const float* x, float* y, int64_t count, Function function) {
  const TrigTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) function(x + i, y + i);
  if (i == count) return;
  float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  const auto rest = static_cast<size_t>(count - i) * sizeof(float);
  std::memcpy(buffer, x + i, rest);
  function(buffer, buffer);
  std::memcpy(y + i, buffer, rest);
}

/// Sine and cosine: beyond the range in which the library reduces exactly enough, libm does it.
template <class Vector, class Scalar>
HWY_INLINE void periodic(const float* x, float* y, int64_t count, Vector vector, Scalar scalar) {
  for_vectors(x, y, count, [&](const float* from, float* to) HWY_ATTR {
    const TrigTag d;
    const TrigVec v = hn::LoadU(d, from);
    if (HWY_LIKELY(hn::AllTrue(d, hn::Le(hn::Abs(v), hn::Set(d, 39000.0F))))) {
      hn::StoreU(vector(d, v), d, to);
    } else {
      for (size_t i = 0; i < hn::Lanes(d); ++i) to[i] = scalar(from[i]);
    }
  });
}

void sine(const float* x, float* y, int64_t count, const float* /*p*/) {
  periodic(
      x, y, count, [](auto d, auto v) HWY_ATTR { return hn::Sin(d, v); },
      [](float v) { return std::sin(v); });
}
void cosine(const float* x, float* y, int64_t count, const float* /*p*/) {
  periodic(
      x, y, count, [](auto d, auto v) HWY_ATTR { return hn::Cos(d, v); },
      [](float v) { return std::cos(v); });
}

#define GANTRY_ARC(Name, function)                                         \
  void Name(const float* x, float* y, int64_t count, const float* /*p*/) { \
    for_vectors(x, y, count, [](const float* from, float* to) HWY_ATTR {   \
      const TrigTag d;                                                     \
      hn::StoreU(hn::function(d, hn::LoadU(d, from)), d, to);              \
    });                                                                    \
  }
GANTRY_ARC(arc_sine, Asin)
GANTRY_ARC(arc_cosine, Acos)
GANTRY_ARC(arc_tangent, Atan)
#undef GANTRY_ARC

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

#define GANTRY_EXPORT(name, Name)                                            \
  HWY_EXPORT(Name);                                                          \
  void simd::name(const float* x, float* y, int64_t count, const float* p) { \
    HWY_DYNAMIC_DISPATCH(Name)(x, y, count, p);                              \
  }
GANTRY_EXPORT(sin, sine)
GANTRY_EXPORT(cos, cosine)
GANTRY_EXPORT(asin, arc_sine)
GANTRY_EXPORT(acos, arc_cosine)
GANTRY_EXPORT(atan, arc_tangent)
#undef GANTRY_EXPORT

}  // namespace gantry::cpu
#endif  // HWY_ONCE
