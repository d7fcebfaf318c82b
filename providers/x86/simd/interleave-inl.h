// SPDX-License-Identifier: Apache-2.0
// Interleaves a few rows (a transpose). Included once for each Highway target.
#if defined(GANTRY_X86_ATTENTION_LAY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_ATTENTION_LAY_INL_H_
#undef GANTRY_X86_ATTENTION_LAY_INL_H_
#else
#define GANTRY_X86_ATTENTION_LAY_INL_H_
#endif

#include <algorithm>

#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

constexpr int64_t kInterleavedRows = 4;  // lanes of a 128-bit block

#if HWY_TARGET != HWY_SCALAR

/// Stores a vector of kCount lanes in blocks of four: the block of lane i goes to to + i * step.
template <int64_t kCount, class D, class V>
HWY_INLINE void store_blocks(D d, V x, float* to, int64_t step) {
  if constexpr (kCount <= kInterleavedRows) {
    hn::StoreU(x, d, to);
  } else {
    const hn::Half<D> half;
    store_blocks<kCount / 2>(half, hn::LowerHalf(half, x), to, step);
    store_blocks<kCount / 2>(half, hn::UpperHalf(half, x), to + kCount / 2 * step, step);
  }
}

/// Interleaves a vector of each of four rows: to[i * step + r] = from[r * stride + i].
HWY_INLINE void lay_square(const float* from, int64_t stride, float* to, int64_t step) {
  const F32 d;
  const hn::RepartitionToWide<F32> pairs;
  V32 rows[kInterleavedRows];
  for (int64_t r = 0; r < kInterleavedRows; ++r) rows[r] = hn::LoadU(d, from + r * stride);
  const auto lower = [&](int r) HWY_ATTR {
    return hn::BitCast(pairs, hn::InterleaveLower(d, rows[r], rows[r + 1]));
  };
  const auto upper = [&](int r) HWY_ATTR {
    return hn::BitCast(pairs, hn::InterleaveUpper(d, rows[r], rows[r + 1]));
  };
  const auto columns = [&](auto a, auto b, int64_t first) HWY_ATTR {
    store_blocks<kLanes>(d, hn::BitCast(d, hn::InterleaveLower(pairs, a, b)), to + first * step,
                         step);
    store_blocks<kLanes>(d, hn::BitCast(d, hn::InterleaveUpper(pairs, a, b)),
                         to + (first + 1) * step, step);
  };
  columns(lower(0), lower(2), 0);
  columns(upper(0), upper(2), 2);
}

#endif

/// to[i * step + r] = from[r * stride + i] for `rows` rows of `count` elements.
HWY_INLINE void interleave_rows(const float* from, int64_t stride, int64_t rows, int64_t count,
                                float* to, int64_t step) {
  int64_t whole = 0;
#if HWY_TARGET != HWY_SCALAR
  if (rows >= kInterleavedRows) {
    whole = count - count % kLanes;
    for (int64_t next = 0; next < rows; next += kInterleavedRows) {
      const int64_t r = std::min(next, rows - kInterleavedRows);  // the last four again
      for (int64_t i = 0; i < whole; i += kLanes)
        lay_square(from + r * stride + i, stride, to + i * step + r, step);
    }
  }
#endif
  for (int64_t i = whole; i < count; ++i) {
    for (int64_t r = 0; r < rows; ++r) to[i * step + r] = from[r * stride + i];
  }
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
