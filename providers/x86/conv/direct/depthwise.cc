// SPDX-License-Identifier: Apache-2.0
// convolve_row() and shuffle_channels() of code.h.
#include <algorithm>

#include "conv/direct/code.h"
#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "conv/direct/depthwise.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "conv/direct/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

template <int kPixels, int kVectors, bool kIsPartial>
HWY_INLINE void convolve_tile(const DepthwiseWindow& w, const RowPosition& at, int64_t channel) {
  const F32 d;
  const int64_t padded = blocks_of(w.channels) * kChannelBlock;
  Tile<kPixels, kVectors, kIsPartial> tile;
  tile.lanes = last_lanes(w.channels);
  for (int v = 0; v < kVectors; ++v) {
    const V32 bias = hn::LoadU(d, w.bias + channel + v * kLanes);
    for (int i = 0; i < kPixels; ++i) tile.sums[i * kVectors + v] = bias;
  }
  const int64_t step = w.stride * w.channels;
  for (int64_t y = 0; y < w.height; ++y) {
    if (!at.rows[y]) continue;
    const float* taps = w.weights + y * w.width * padded + channel;
    for (int64_t tap = at.first_tap; tap < at.last_tap; ++tap) {
      const float* from =
          at.rows[y] + (at.x * w.stride + tap * w.dilation - w.pad) * w.channels + channel;
      for (int v = 0; v < kVectors; ++v) {
        const V32 weight = hn::LoadU(d, taps + tap * padded + v * kLanes);
        for (int i = 0; i < kPixels; ++i) {
          const float* pixel = from + i * step + v * kLanes;
          const V32 x =
              v + 1 < kVectors ? hn::LoadU(d, pixel) : load<kIsPartial>(pixel, tile.lanes);
          V32& sum = tile.sums[i * kVectors + v];
          sum = hn::MulAdd(x, weight, sum);
        }
      }
    }
  }
  const int64_t offset = at.x * w.channels + channel;
  tile.store(*w.steps, at.addend ? at.addend + offset : nullptr, at.target + offset, w.channels);
}

/// A vector of channels of kPixels results of a 3 x 3 window without padding. Each source pixel is
/// loaded once.
template <int kPixels, int kStride, bool kIsPartial>
HWY_INLINE void convolve_nine(const DepthwiseWindow& w, const RowPosition& at, int64_t channel) {
  constexpr int kWidth = 3;
  const F32 d;
  const int64_t padded = blocks_of(w.channels) * kChannelBlock;
  Tile<kPixels, 1, kIsPartial> tile;
  tile.lanes = last_lanes(w.channels);
  const V32 bias = hn::LoadU(d, w.bias + channel);
  for (V32& sum : tile.sums) sum = bias;
  for (int y = 0; y < kWidth; ++y) {
    const float* taps = w.weights + y * kWidth * padded + channel;
    const V32 weights[kWidth] = {hn::LoadU(d, taps), hn::LoadU(d, taps + padded),
                                 hn::LoadU(d, taps + 2 * padded)};
    const float* from = at.rows[y] + (at.x * kStride - w.pad) * w.channels + channel;
    HWY_UNROLL(16)
    for (int column = 0; column < (kPixels - 1) * kStride + kWidth; ++column) {
      const V32 x = load<kIsPartial>(from + column * w.channels, tile.lanes);
      for (int i = 0; i < kPixels; ++i) {
        const int tap = column - i * kStride;
        if (tap >= 0 && tap < kWidth) tile.sums[i] = hn::MulAdd(x, weights[tap], tile.sums[i]);
      }
    }
  }
  const int64_t offset = at.x * w.channels + channel;
  tile.store(*w.steps, at.addend ? at.addend + offset : nullptr, at.target + offset, w.channels);
}

template <int kPixels, int kStride>
void convolve_nines(const DepthwiseWindow& w, const RowPosition& at) {
  int64_t channel = 0;
  for (; channel + kLanes <= w.channels; channel += kLanes)
    convolve_nine<kPixels, kStride, false>(w, at, channel);
  if (channel < w.channels) convolve_nine<kPixels, kStride, true>(w, at, channel);
}

/// All channels of kPixels results.
template <int kPixels>
void convolve_pixels(const DepthwiseWindow& w, const RowPosition& at) {
  const bool is_nine = kPixels > 1 && w.width == 3 && w.height == 3 && w.dilation == 1 &&
                       at.last_tap - at.first_tap == 3 && at.rows[0] && at.rows[1] && at.rows[2];
  if (is_nine && w.stride == 1) return convolve_nines<kPixels, 1>(w, at);
  if (is_nine && w.stride == 2) return convolve_nines<kPixels, 2>(w, at);
  constexpr int kVectors = kHasManyRegisters || kPixels < 4 ? 2 : 1;
  int64_t channel = 0;
  for (; channel + kVectors * kLanes <= w.channels; channel += kVectors * kLanes)
    convolve_tile<kPixels, kVectors, false>(w, at, channel);
  for (; channel + kLanes <= w.channels; channel += kLanes)
    convolve_tile<kPixels, 1, false>(w, at, channel);
  if (channel < w.channels) convolve_tile<kPixels, 1, true>(w, at, channel);
}

void convolve_row_here(const DepthwiseWindow& w, const float* const* rows, int64_t source_width,
                       const float* addend, float* target, int64_t target_width) {
  RowPosition at{rows, addend, target, 0, 0, 0};
  while (at.x < target_width) {
    set_taps(w, at, source_width);
    int64_t pixels = 1;
    for (const int64_t more : {6, 4, 2}) {
      if (!are_inner(w, at.x, more, source_width, target_width)) continue;
      pixels = more;
      break;
    }
    if (pixels == 6) {
      convolve_pixels<6>(w, at);
    } else if (pixels == 4) {
      convolve_pixels<4>(w, at);
    } else if (pixels == 2) {
      convolve_pixels<2>(w, at);
    } else {
      convolve_pixels<1>(w, at);
    }
    at.x += pixels;
  }
}

void shuffle_fours(const float* source, float* target, int64_t channels) {
  const F32 d;
  const int64_t each = channels / 4;
  const auto take = [&](int64_t c) HWY_ATTR {
    hn::StoreInterleaved4(hn::LoadU(d, source + c), hn::LoadU(d, source + each + c),
                          hn::LoadU(d, source + 2 * each + c), hn::LoadU(d, source + 3 * each + c),
                          d, target + 4 * c);
  };
  int64_t c = 0;
  for (; c + kLanes <= each; c += kLanes) take(c);
  if (c < each) take(each - kLanes);  // overlaps the vector before
}

void shuffle_pairs(const float* source, float* target, int64_t channels) {
  const F32 d;
  const int64_t each = channels / 2;
  const auto take = [&](int64_t c) HWY_ATTR {
    hn::StoreInterleaved2(hn::LoadU(d, source + c), hn::LoadU(d, source + each + c), d,
                          target + 2 * c);
  };
  int64_t c = 0;
  for (; c + kLanes <= each; c += kLanes) take(c);
  if (c < each) take(each - kLanes);
}

void shuffle_channels_here(const float* source, float* target, int64_t pixels, int64_t channels,
                           int64_t groups) {
  const int64_t each = channels / groups;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    const float* from = source + pixel * channels;
    float* to = target + pixel * channels;
    if (groups == 4 && each >= kLanes) {
      shuffle_fours(from, to, channels);
    } else if (groups == 2 && each >= kLanes) {
      shuffle_pairs(from, to, channels);
    } else {
      for (int64_t c = 0; c < each; ++c) {
        for (int64_t g = 0; g < groups; ++g) to[c * groups + g] = from[g * each + c];
      }
    }
  }
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(convolve_row_here);
HWY_EXPORT(shuffle_channels_here);

void convolve_row(const DepthwiseWindow& window, const float* const* rows, int64_t source_width,
                  const float* addend, float* target, int64_t target_width) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(convolve_row_here)(window, rows, source_width, addend, target, target_width);
}

void shuffle_channels(const float* source, float* target, int64_t pixels, int64_t channels,
                      int64_t groups) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(shuffle_channels_here)(source, target, pixels, channels, groups);
}

}  // namespace gantry::x86
#endif
