// SPDX-License-Identifier: Apache-2.0
#include "int8/depthwise_windows.h"

#include <algorithm>

namespace gantry::x86 {
namespace {

// Initial sums that compensate the source's zero point, [padded channels].
void subtract_zeros(const WidenedConvolution& c, int32_t* initial) {
  std::fill_n(initial, c.panels() * kWidenedPanel, 0);
  if (c.source_zero == 0) return;
  for (int64_t panel = 0; panel < c.panels(); ++panel) {
    const int8_t* weights = c.weights + panel * c.pairs() * kWidenedPanel * 2;
    for (int64_t pair = 0; pair < c.pairs(); ++pair) {
      for (int64_t i = 0; i < kWidenedPanel; ++i) {
        const int8_t* both = weights + (pair * kWidenedPanel + i) * 2;
        initial[panel * kWidenedPanel + i] -= c.source_zero * (both[0] + both[1]);
      }
    }
  }
}

}  // namespace

int64_t depthwise_windows_bytes(const WidenedConvolution& c) {
  const int64_t taps = 2 * c.pairs();
  const int64_t padded = c.panels() * kWidenedPanel;
  return taps * kMostPositionsTogether * static_cast<int64_t>(sizeof(uint8_t*)) +
         taps * static_cast<int64_t>(sizeof(int64_t)) +
         padded * static_cast<int64_t>(sizeof(int32_t)) + padded +
         kMostPositionsTogether * taps * kWidenedPanel;
}

DepthwiseWindows prepare_windows(const WidenedConvolution& c, void* memory) {
  const int64_t padded = c.panels() * kWidenedPanel;
  const int64_t taps = 2 * c.pairs();
  DepthwiseWindows windows = {};
  windows.pairs = c.pairs();
  windows.taps = reinterpret_cast<const uint8_t**>(memory);
  auto* offsets = reinterpret_cast<int64_t*>(windows.taps + kMostPositionsTogether * taps);
  auto* initial = reinterpret_cast<int32_t*>(offsets + taps);
  auto* padding = reinterpret_cast<uint8_t*>(initial + padded);
  std::fill_n(offsets, taps, int64_t{0});
  for (int64_t t = 0; t < c.taps(); ++t) {
    const int64_t line = t / c.window[2];
    offsets[t] = WidenedPosition::offset_of(c, line / c.window[1] * c.dilations[0],
                                            line % c.window[1] * c.dilations[1],
                                            t % c.window[2] * c.dilations[2]);
  }
  subtract_zeros(c, initial);
  std::fill_n(padding, padded, static_cast<uint8_t>(c.source_zero));
  windows.offsets = offsets;
  windows.initial = initial;
  windows.padding = padding;
  windows.last = padding + padded;
  return windows;
}

void find_taps(const WidenedConvolution& c, const WidenedPosition& at,
               const DepthwiseWindows& windows, const uint8_t** taps) {
  if (at.is_inside()) {
    const uint8_t* first = at.first_tap();
    for (int64_t t = 0; t < 2 * windows.pairs; ++t) taps[t] = first + windows.offsets[t];
    return;
  }
  for (int64_t i = 0; i < c.window[0]; ++i) {
    for (int64_t j = 0; j < c.window[1]; ++j) {
      for (int64_t k = 0; k < c.window[2]; ++k) {
        const uint8_t* from = at.tap(i, j, k);
        *taps++ = from ? from : windows.padding;
      }
    }
  }
  if (c.taps() % 2 != 0) *taps = windows.padding;
}

}  // namespace gantry::x86
