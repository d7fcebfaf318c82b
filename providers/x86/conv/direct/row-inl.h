// SPDX-License-Identifier: Apache-2.0
// A row of results whose windows may reach beyond the ends of the source row. Included once for
// each Highway target.
#if defined(GANTRY_X86_DIRECT_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_DIRECT_ROW_INL_H_
#undef GANTRY_X86_DIRECT_ROW_INL_H_
#else
#define GANTRY_X86_DIRECT_ROW_INL_H_
#endif

#include "conv/direct/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// The position of a tile of results in its row.
struct RowPosition {
  const float* const* rows;  ///< of the source; null: padding
  const float* addend;       ///< null: none
  float* target;
  int64_t x;          ///< of the first result
  int64_t first_tap;  ///< taps [first_tap, last_tap) of a window's row are inside the source
  int64_t last_tap;
};

/// Sets the range of taps for the result at `at.x`.
template <class Window>
HWY_INLINE void set_taps(const Window& w, RowPosition& at, int64_t source_width) {
  const TapRange taps = taps_inside(w.width, w.dilation, at.x * w.stride - w.pad, source_width);
  at.first_tap = taps.first;
  at.last_tap = taps.last;
}

/// True if results [x, x + pixels) exist and no tap of their windows is in the padding.
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
