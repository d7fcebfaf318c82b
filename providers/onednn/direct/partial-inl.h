// SPDX-License-Identifier: Apache-2.0
// Vectors of which some lanes alone are in memory, for one of Highway's targets: included again for
// each. Highway's own functions want aligned memory, and all of the vector, where the instruction
// set has no masks (SSE).
#if defined(GANTRY_ONEDNN_DIRECT_PARTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_ONEDNN_DIRECT_PARTIAL_INL_H_
#undef GANTRY_ONEDNN_DIRECT_PARTIAL_INL_H_
#else
#define GANTRY_ONEDNN_DIRECT_PARTIAL_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::onednn::HWY_NAMESPACE {

/// The lanes of `lanes`, the others zero. The memory of the others is not touched.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_lanes(hwy::HWY_NAMESPACE::Mask<D> lanes, D d,
                                                 const float* from) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE2
  HWY_ALIGN float all[HWY_LANES(float)] = {};
  uint8_t bits[8] = {};
  hn::StoreMaskBits(d, lanes, bits);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if ((bits[0] >> i & 1) != 0) all[i] = from[i];
  }
  return hn::Load(d, all);
#else
  return hn::MaskedLoad(lanes, d, from);
#endif
}

/// Writes the lanes of `lanes`.
template <class D>
HWY_INLINE void store_lanes(hwy::HWY_NAMESPACE::Vec<D> x, hwy::HWY_NAMESPACE::Mask<D> lanes, D d,
                            float* to) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE2
  HWY_ALIGN float all[HWY_LANES(float)];
  uint8_t bits[8] = {};
  hn::Store(x, d, all);
  hn::StoreMaskBits(d, lanes, bits);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if ((bits[0] >> i & 1) != 0) to[i] = all[i];
  }
#else
  hn::BlendedStore(x, lanes, d, to);
#endif
}

}  // namespace gantry::onednn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
