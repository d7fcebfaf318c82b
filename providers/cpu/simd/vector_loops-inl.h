// SPDX-License-Identifier: Apache-2.0
// Loops over arrays by Highway vectors, including a partial last vector. Include after
// <hwy/highway.h> in a file compiled by foreach_target; functions are in
// gantry::cpu::HWY_NAMESPACE.
#if defined(GANTRY_CPU_VECTOR_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_CPU_VECTOR_LOOPS_INL_H_
#undef GANTRY_CPU_VECTOR_LOOPS_INL_H_
#else
#define GANTRY_CPU_VECTOR_LOOPS_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Loads the first `count` lanes from x and sets the others to `rest`. Requires `count` below the
/// number of lanes.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_partial(D d, const T* x, int64_t count, T rest) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(hn::Set(d, rest), d, buffer);
  std::memcpy(buffer, x, static_cast<size_t>(count) * sizeof(T));
  return hn::Load(d, buffer);
}
/// Stores the first `count` lanes of v to y.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_partial(D d, hn::Vec<D> v, T* y, int64_t count) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, buffer);
  std::memcpy(y, buffer, static_cast<size_t>(count) * sizeof(T));
}
/// y[i] = function(d, x[i]) by vectors; y may be x. Unused lanes of the last vector are 1.
template <class T, class Function>
HWY_INLINE void map(const T* x, T* y, int64_t count, Function function) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(function(d, hn::LoadU(d, x + i)), d, y + i);
  if (i == count) return;
  store_partial(d, function(d, load_partial(d, x + i, count - i, T{1})), y + i, count - i);
}

}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // GANTRY_CPU_VECTOR_LOOPS_INL_H_
