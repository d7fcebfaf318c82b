// SPDX-License-Identifier: Apache-2.0
#include "conv/direct/nchw.h"

#include <algorithm>

#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "conv/direct/nchw.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "conv/direct/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// Some channels of a block, and some vectors of a row of results.
struct NchwPosition {
  int64_t block;
  int64_t channel;  ///< the first, within the block
  int64_t x;        ///< the first result
};

template <int kChannels, int kVectors, bool kIsPartial>
HWY_INLINE void nchw_tile(const NchwWindow& w, const int64_t* offsets, const NchwPosition& at,
                          const float* numbers, const float* addend, float* target) {
  const F32 d;
  const int64_t inner = w.inner();
  const float* weights = w.weights + at.block * inner * kChannelBlock + at.channel;
  const float* bias = w.bias + at.block * kChannelBlock + at.channel;
  Tile<kChannels, kVectors, kIsPartial> tile;
  tile.lanes = last_lanes(w.target[1]);
  for (int c = 0; c < kChannels; ++c) {
    for (int v = 0; v < kVectors; ++v) tile.sums[c * kVectors + v] = hn::Set(d, bias[c]);
  }
  for (int64_t k = 0; k < inner; ++k) {
    const float* from = numbers + at.x + offsets[k];
    V32 x[kVectors];
    for (int v = 0; v < kVectors; ++v) x[v] = hn::LoadU(d, from + v * kLanes);
    for (int c = 0; c < kChannels; ++c) {
      const V32 weight = hn::Set(d, weights[k * kChannelBlock + c]);
      for (int v = 0; v < kVectors; ++v) {
        V32& sum = tile.sums[c * kVectors + v];
        sum = hn::MulAdd(x[v], weight, sum);
      }
    }
  }
  const int64_t plane = w.target[0] * w.target[1];
  const int64_t offset = at.channel * plane + at.x;
  tile.store(*w.steps, addend ? addend + offset : nullptr, target + offset, plane);
}

/// kVectors vectors of the row, for all channels of the block.
template <int kVectors, bool kIsPartial>
void nchw_vectors(const NchwWindow& w, const int64_t* offsets, NchwPosition at,
                  const float* numbers, const float* addend, float* target) {
  constexpr int kMost = kHasManyRegisters ? 8 : 4;
  const int64_t channels = std::min(kChannelBlock, w.results - at.block * kChannelBlock);
  while (at.channel < channels) {
    const int64_t left = channels - at.channel;
    if (left >= kMost) {
      nchw_tile<kMost, kVectors, kIsPartial>(w, offsets, at, numbers, addend, target);
      at.channel += kMost;
    } else if (left >= 4) {
      nchw_tile<4, kVectors, kIsPartial>(w, offsets, at, numbers, addend, target);
      at.channel += 4;
    } else {
      nchw_tile<1, kVectors, kIsPartial>(w, offsets, at, numbers, addend, target);
      ++at.channel;
    }
  }
}

template <int kVectors>
void nchw_part(const NchwWindow& w, const int64_t* offsets, const NchwPosition& at,
               const float* numbers, const float* addend, float* target) {
  if (at.x + kVectors * kLanes > w.target[1]) {
    nchw_vectors<kVectors, true>(w, offsets, at, numbers, addend, target);
  } else {
    nchw_vectors<kVectors, false>(w, offsets, at, numbers, addend, target);
  }
}

void convolve_nchw_row_here(const NchwWindow& w, const int64_t* offsets, int64_t block,
                            const float* numbers, const float* addend, float* target) {
  NchwPosition at{block, 0, 0};
  int64_t left = vectors_of(w.target[1]);
  while (left > 0) {
    const int64_t taken =
        left == 4 ? 2 : std::min<int64_t>(left, 3);  // rather two and two than one
    if (taken == 3) {
      nchw_part<3>(w, offsets, at, numbers, addend, target);
    } else if (taken == 2) {
      nchw_part<2>(w, offsets, at, numbers, addend, target);
    } else {
      nchw_part<1>(w, offsets, at, numbers, addend, target);
    }
    at.x += taken * kLanes;
    left -= taken;
  }
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(convolve_nchw_row_here);

NchwRows::NchwRows(const NchwWindow& window) : window_(window) {
  constexpr int64_t kElements = 1 << 14;
  constexpr int64_t kLeastStrip = 4;
  const auto& [rows, columns] = window.window;
  const int64_t reach = (columns - 1) * window.dilations[1];
  // Whole vectors are read.
  length_ = blocks_of(window.target[1]) * kChannelBlock + reach / window.strides[1];
  const int64_t held = kElements / (window.channels * row()) - (rows - 1) * window.dilations[0] - 1;
  strip_ = std::clamp<int64_t>(held / window.strides[0] + 1, kLeastStrip,
                               std::max(kLeastStrip, window.target[0]));
  strip_ = std::min(strip_, window.target[0]);
  const int64_t channel = rows_of(strip_) * row();
  for (int64_t c = 0; c < window.channels; ++c) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t x = j * window.dilations[1];
        offsets_.push_back(c * channel + i * window.dilations[0] * row() +
                           x % window.strides[1] * length_ + x / window.strides[1]);
      }
    }
  }
}

void NchwRows::prepare(const float* image, int64_t first, int64_t count, float* rows) const {
  const int64_t start = first * window_.strides[0] - window_.pads[0];
  for (int64_t c = 0; c < window_.channels; ++c) {
    const float* plane = image + c * window_.source[0] * window_.source[1];
    float* to = rows + c * rows_of(strip_) * row();
    for (int64_t r = 0; r < rows_of(count); ++r, to += row()) {
      const int64_t y = start + r;
      if (y < 0 || y >= window_.source[0]) {
        std::fill_n(to, row(), 0.0F);
      } else {
        fill_row(plane + y * window_.source[1], to);
      }
    }
  }
}

void NchwRows::fill_row(const float* from, float* to) const {
  const int64_t stride = window_.strides[1];
  for (int64_t part = 0; part < stride; ++part, to += length_) {
    // Element i of the part is element i * stride + start of the source row.
    const int64_t start = part - window_.pads[1];
    const int64_t missing = start < 0 ? (-start + stride - 1) / stride : 0;
    const int64_t left = window_.source[1] - start;
    const int64_t begin = std::min(missing, length_);
    const int64_t end = std::clamp<int64_t>((left + stride - 1) / stride, begin, length_);
    std::fill_n(to, begin, 0.0F);
    if (stride == 1) {
      std::copy_n(from + start + begin, end - begin, to + begin);
    } else {
      for (int64_t i = begin; i < end; ++i) to[i] = from[start + i * stride];
    }
    std::fill(to + end, to + length_, 0.0F);
  }
}

void convolve_nchw_row(const NchwWindow& window, const int64_t* offsets, int64_t block,
                       const float* numbers, const float* addend, float* target) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(convolve_nchw_row_here)(window, offsets, block, numbers, addend, target);
}

}  // namespace gantry::x86
#endif
