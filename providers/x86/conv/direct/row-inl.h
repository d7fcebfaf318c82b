// SPDX-License-Identifier: Apache-2.0
// A row of results under windows of several taps, which go beyond the ends of the source's row: for
// one of Highway's targets, included again for each.
#if defined(GANTRY_X86_DIRECT_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_DIRECT_ROW_INL_H_
#undef GANTRY_X86_DIRECT_ROW_INL_H_
#else
#define GANTRY_X86_DIRECT_ROW_INL_H_
#endif

#include "conv/direct/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// Where a tile of results stands in its row.
struct RowPlace {
  const float* const* rows;  ///< of the source; null where one lies in the padding
  const float* addend;       ///< null: there is none
  float* target;
  int64_t x;          ///< the first result
  int64_t first_tap;  ///< of a window's row, those whose pixels exist
  int64_t last_tap;   ///< the one behind them
};

/// Sets the taps that the first result has.
template <class Window>
HWY_INLINE void set_taps(const Window& w, RowPlace& at, int64_t source_width) {
  const TapRange taps = taps_inside(w.width, w.dilation, at.x * w.stride - w.pad, source_width);
  at.first_tap = taps.first;
  at.last_tap = taps.last;
}

/// Whether the windows of result `x` and of the `pixels` - 1 behind it have all their taps, and the
/// row has so many results.
template <class Window>
HWY_INLINE bool are_inner(const Window& w, int64_t x, int64_t pixels, int64_t source_width,
                          int64_t target_width) {
  const int64_t first = x * w.stride - w.pad;
  const int64_t last = first + (pixels - 1) * w.stride + (w.width - 1) * w.dilation;
  return x + pixels <= target_width && first >= 0 && last < source_width;
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
