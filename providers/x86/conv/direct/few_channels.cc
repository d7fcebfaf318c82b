// SPDX-License-Identifier: Apache-2.0
// convolve_narrow_row() of code.h: one group, few input channels.
#include <algorithm>

#include "conv/direct/code.h"
#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "conv/direct/few_channels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "conv/direct/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// kStep: compile-time NarrowWindow::position_step; 0: read at run time.
template <int kPixels, int kVectors, int kStep, bool kIsPartial>
HWY_INLINE void narrow_tile(const NarrowWindow& w, const RowPosition& at, int64_t vector) {
  const F32 d;
  const int64_t inner = w.channels * w.height * w.width;
  const float* weights[kVectors];
  Tile<kPixels, kVectors, kIsPartial> tile;
  tile.lanes = last_lanes(w.results);
  for (int v = 0; v < kVectors; ++v) {
    const int64_t block = (vector + v) / kVectorsOfBlock;
    const int64_t lane = (vector + v) % kVectorsOfBlock * kLanes;
    weights[v] = w.weights + block * inner * kChannelBlock + lane;
    const V32 bias = hn::LoadU(d, w.bias + block * kChannelBlock + lane);
    for (int i = 0; i < kPixels; ++i) tile.sums[i * kVectors + v] = bias;
  }
  const int64_t step = kStep > 0 ? kStep : w.stride * w.position_step;
  for (int64_t line = 0; line < w.channels * w.height; ++line) {
    if (!at.rows[line]) continue;
    const float* row = at.rows[line] + (at.x * w.stride - w.pad) * w.position_step;
    for (int64_t tap = at.first_tap; tap < at.last_tap; ++tap) {
      const float* from = row + tap * w.dilation * w.position_step;
      V32 numbers[kVectors];
      for (int v = 0; v < kVectors; ++v)
        numbers[v] = hn::LoadU(d, weights[v] + (line * w.width + tap) * kChannelBlock);
      for (int i = 0; i < kPixels; ++i) {
        const V32 x = hn::Set(d, from[i * step]);
        for (int v = 0; v < kVectors; ++v) {
          V32& sum = tile.sums[i * kVectors + v];
          sum = hn::MulAdd(x, numbers[v], sum);
        }
      }
    }
  }
  const int64_t offset = at.x * w.results + vector * kLanes;
  tile.store(*w.steps, at.addend ? at.addend + offset : nullptr, at.target + offset, w.results);
}

/// kVectors vectors of one row of results.
template <int kVectors, int kStep, bool kIsPartial>
void narrow_vectors(const NarrowWindow& w, RowPosition at, int64_t vector, int64_t source_width,
                    int64_t target_width) {
  constexpr int kPixels = kHasManyRegisters ? 24 / kVectors : 10 / kVectors;
  const auto fits = [&](int64_t pixels) {
    return are_inner(w, at.x, pixels, source_width, target_width);
  };
  while (at.x < target_width) {
    set_taps(w, at, source_width);
    if (fits(kPixels)) {
      narrow_tile<kPixels, kVectors, kStep, kIsPartial>(w, at, vector);
      at.x += kPixels;
    } else if (fits(kPixels / 2)) {
      narrow_tile<kPixels / 2, kVectors, kStep, kIsPartial>(w, at, vector);
      at.x += kPixels / 2;
    } else if (fits(3)) {
      narrow_tile<3, kVectors, kStep, kIsPartial>(w, at, vector);
      at.x += 3;
    } else {
      narrow_tile<1, kVectors, 0, kIsPartial>(w, at, vector);
      ++at.x;
    }
  }
}

template <int kVectors, int kStep>
void narrow_part(const NarrowWindow& w, const RowPosition& at, int64_t vector, int64_t source_width,
                 int64_t target_width) {
  if (vector + kVectors == vectors_of(w.results) && w.results % kLanes != 0) {
    narrow_vectors<kVectors, kStep, true>(w, at, vector, source_width, target_width);
  } else {
    narrow_vectors<kVectors, kStep, false>(w, at, vector, source_width, target_width);
  }
}

template <int kStep>
void narrow_row(const NarrowWindow& w, const RowPosition& at, int64_t source_width,
                int64_t target_width) {
  constexpr int kMost = kHasManyRegisters ? 4 : 2;
  const int64_t count = vectors_of(w.results);
  int64_t vector = 0;
  for (; vector + kMost <= count; vector += kMost)
    narrow_part<kMost, kStep>(w, at, vector, source_width, target_width);
  if (kMost > 2 && vector + 2 <= count) {
    narrow_part<2, kStep>(w, at, vector, source_width, target_width);
    vector += 2;
  }
  if (vector < count) narrow_part<1, kStep>(w, at, vector, source_width, target_width);
}

void convolve_narrow_row_here(const NarrowWindow& w, const float* const* rows, int64_t source_width,
                              const float* addend, float* target, int64_t target_width) {
  const RowPosition at{rows, addend, target, 0, 0, 0};
  const int64_t step = w.stride * w.position_step;
  if (step == 1) return narrow_row<1>(w, at, source_width, target_width);
  if (step == 2) return narrow_row<2>(w, at, source_width, target_width);
  narrow_row<0>(w, at, source_width, target_width);
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(convolve_narrow_row_here);

void convolve_narrow_row(const NarrowWindow& window, const float* const* rows, int64_t source_width,
                         const float* addend, float* target, int64_t target_width) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(convolve_narrow_row_here)
  (window, rows, source_width, addend, target, target_width);
}

}  // namespace gantry::x86
#endif
