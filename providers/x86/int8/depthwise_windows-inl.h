// SPDX-License-Identifier: Apache-2.0
// int8 depthwise convolutions. Included once for each Highway target.
#if defined(GANTRY_X86_INT8_DEPTHWISE_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_INT8_DEPTHWISE_WINDOWS_INL_H_
#undef GANTRY_X86_INT8_DEPTHWISE_WINDOWS_INL_H_
#else
#define GANTRY_X86_INT8_DEPTHWISE_WINDOWS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "int8/depthwise_windows.h"
#include "int8/widened_results-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

/// Computes the sums of a panel's channels for kPositions target pixels, [kPositions,
/// kWidenedPanel]. `channel`: the first one; `weights`: of the panel.
template <class Byte, int kPositions>
void multiply_channels(const DepthwiseWindows& windows, int64_t channel, const int8_t* weights,
                       const int32_t* initial, int32_t* sums) {
  for (int64_t i = 0; i < kPositions * kWidenedPanel; ++i) {
    const int64_t c = i % kWidenedPanel;
    const uint8_t** taps = windows.taps + i / kWidenedPanel * 2 * windows.pairs;
    sums[i] = initial[c];
    for (int64_t t = 0; t < 2 * windows.pairs; ++t) {
      sums[i] += static_cast<Byte>(taps[t][channel + c]) *
                 weights[(t / 2 * kWidenedPanel + c) * 2 + t % 2];
    }
  }
}

#else

/// Part `v` of the 32 bytes in `low` and `high`, 2 * kLanes of them, widened to int16.
template <class D16, class V8>
HWY_INLINE hn::Vec<D16> widen_part(D16 d16, V8 low, V8 high, int v) {
  using Byte = hn::TFromV<V8>;
  const hn::Rebind<Byte, D16> bytes;
  if constexpr (kLanes == 16) {
    return hn::PromoteTo(d16, hn::Combine(bytes, high, low));
  } else if constexpr (kLanes == 8) {
    return hn::PromoteTo(d16, v == 0 ? low : high);
  } else {
    const V8 half = v / 2 == 0 ? low : high;
    return hn::PromoteTo(d16, v % 2 == 0 ? hn::LowerHalf(bytes, half) : hn::UpperHalf(bytes, half));
  }
}

/// Computes the sums of a panel's channels for kPositions target pixels, [kPositions,
/// kWidenedPanel]. `channel`: the first one; `weights`: of the panel.
template <class Byte, int kPositions>
HWY_INLINE void multiply_channels(const DepthwiseWindows& windows, int64_t channel,
                                  const int8_t* weights, const int32_t* initial, int32_t* sums) {
  const hn::Repartition<int16_t, I32> d16;
  const hn::Rebind<int8_t, decltype(d16)> d8;
  const hn::FixedTag<Byte, kWidenedPanel> d_panel;
  const I32 d32;
  V32I all[kPositions * kVectorsOfPanel];
  // Unrolled, here and below, so that the sums stay in registers.
#pragma GCC unroll 16
  for (int i = 0; i < kPositions * kVectorsOfPanel; ++i)
    all[i] = hn::LoadU(d32, initial + i % kVectorsOfPanel * kLanes);
  for (int64_t pair = 0; pair < windows.pairs; ++pair) {
    hn::Vec<decltype(d16)> both[kVectorsOfPanel];
#pragma GCC unroll 4
    for (int v = 0; v < kVectorsOfPanel; ++v) {
      both[v] =
          hn::PromoteTo(d16, hn::LoadU(d8, weights + (pair * kWidenedPanel + v * kLanes) * 2));
    }
#pragma GCC unroll 4
    for (int p = 0; p < kPositions; ++p) {
      const uint8_t** taps = windows.taps + (p * windows.pairs + pair) * 2;
      const auto a = hn::LoadU(d_panel, reinterpret_cast<const Byte*>(taps[0] + channel));
      const auto b = hn::LoadU(d_panel, reinterpret_cast<const Byte*>(taps[1] + channel));
      const auto low = hn::InterleaveLower(d_panel, a, b);
      const auto high = hn::InterleaveUpper(d_panel, a, b);
#pragma GCC unroll 4
      for (int v = 0; v < kVectorsOfPanel; ++v) {
        V32I& sum = all[p * kVectorsOfPanel + v];
        sum = add_pairs(d32, sum, widen_part(d16, low, high, v), both[v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kPositions * kVectorsOfPanel; ++i) hn::StoreU(all[i], d32, sums + i * kLanes);
}

#endif

static_assert(kRowsOfStore <= kMostPositionsTogether);

/// Computes all channels of kPositions target pixels from `position` on. Requires their
/// windows.taps.
template <class Byte, int kPositions>
void multiply_together(const WidenedConvolution& c, const WidenedTensors& tensors, int64_t position,
                       const DepthwiseWindows& windows) {
  HWY_ALIGN int32_t sums[kPositions * kWidenedPanel];
  for (int64_t first = 0; first < c.groups; first += kWidenedPanel) {
    const int64_t count = std::min(kWidenedPanel, c.groups - first);
    int64_t channel = first;
    if (count < kWidenedPanel) {  // nothing beyond the tensor is read
      for (int64_t t = 0; t < kPositions * 2 * windows.pairs; ++t) {
        uint8_t* to = windows.last + t * kWidenedPanel;
        std::memcpy(to, windows.taps[t] + first, static_cast<size_t>(count));
        windows.taps[t] = to;
      }
      channel = 0;
    }
    multiply_channels<Byte, kPositions>(windows, channel, c.weights + first * windows.pairs * 2,
                                        windows.initial + first, sums);
    finish_rows<kPositions>(c, tensors, sums, first, position * c.groups + first, c.groups, count);
  }
}

/// Computes target pixels [first, first + count).
template <class Byte>
void multiply_positions(const WidenedConvolution& c, const WidenedTensors& tensors, int64_t first,
                        int64_t count, const DepthwiseWindows& windows) {
  WidenedPosition at(c, tensors.source, first);
  for (int64_t done = 0; done < count;) {
    const int64_t together = count - done < kRowsOfStore ? 1 : kRowsOfStore;
    for (int64_t p = 0; p < together; ++p, at.next())
      find_taps(c, at, windows, windows.taps + p * 2 * windows.pairs);
    if (together == kRowsOfStore) {
      multiply_together<Byte, kRowsOfStore>(c, tensors, first + done, windows);
    } else {
      multiply_together<Byte, 1>(c, tensors, first + done, windows);
    }
    done += together;
  }
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
