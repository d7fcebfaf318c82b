// SPDX-License-Identifier: Apache-2.0
// The vector type of this provider's own code, and partial loads and stores. Included once for each
// Highway target.
#if defined(GANTRY_X86_DIRECT_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_DIRECT_VECTORS_INL_H_
#undef GANTRY_X86_DIRECT_VECTORS_INL_H_
#else
#define GANTRY_X86_DIRECT_VECTORS_INL_H_
#endif

#include <cstdint>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The CPU's vectors, up to 16 lanes. Packed data are padded to multiples of 16.
using F32 = hn::CappedTag<float, 16>;
using V32 = hn::Vec<F32>;

constexpr int64_t kMostLanes = 16;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float)) < kMostLanes
                               ? static_cast<int64_t>(HWY_LANES(float))
                               : kMostLanes;
constexpr bool kHasManyRegisters = kLanes == kMostLanes;  // 32 of them, else 16

// Without masks (SSE), Highway's masked loads and stores need aligned memory of a whole vector.
// These do not.

/// Loads the lanes of `lanes`; the others are zero, and their memory is not accessed.
HWY_INLINE V32 load_lanes(hn::Mask<F32> lanes, F32 d, const float* from) {
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

/// Stores the lanes of `lanes`.
HWY_INLINE void store_lanes(V32 x, hn::Mask<F32> lanes, F32 d, float* to) {
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

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
