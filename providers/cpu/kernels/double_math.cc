// SPDX-License-Identifier: Apache-2.0
#include "kernels/double_math.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/double_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format off: after the file that includes this one again
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// y = function(x), a vector at a time; an incomplete last one goes through a buffer of zeros.
template <class Function>
HWY_INLINE void map_doubles(const double* x, double* y, int64_t count, Function function) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(function(d, hn::LoadU(d, x + i)), d, y + i);
  if (i == count) return;
  HWY_ALIGN double buffer[HWY_MAX_BYTES / sizeof(double)] = {};
  std::copy(x + i, x + count, buffer);
  hn::Store(function(d, hn::Load(d, buffer)), d, buffer);
  std::copy_n(buffer, count - i, y + i);
}

#define GANTRY_MAP(Name, ...)                                               \
  void Name(const double* x, double* y, int64_t count) {                    \
    map_doubles(x, y, count, [](auto d, auto v) HWY_ATTR { __VA_ARGS__; }); \
  }
GANTRY_MAP(Floor, (void)d; return hn::Floor(v))
GANTRY_MAP(Ceil, (void)d; return hn::Ceil(v))
GANTRY_MAP(Round, (void)d; return hn::Round(v))
GANTRY_MAP(Sqrt, (void)d; return hn::Sqrt(v))
GANTRY_MAP(Tanh, return hn::IfThenElse(hn::IsNaN(v), v, hn::Tanh(d, v)))
#undef GANTRY_MAP

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

#define GANTRY_EXPORT(name, Name)                              \
  HWY_EXPORT(Name);                                            \
  void simd::name(const double* x, double* y, int64_t count) { \
    HWY_DYNAMIC_DISPATCH(Name)(x, y, count);                   \
  }
GANTRY_EXPORT(floor, Floor)
GANTRY_EXPORT(ceil, Ceil)
GANTRY_EXPORT(round, Round)
GANTRY_EXPORT(sqrt, Sqrt)
GANTRY_EXPORT(tanh, Tanh)
#undef GANTRY_EXPORT

}  // namespace gantry::cpu
#endif  // HWY_ONCE
