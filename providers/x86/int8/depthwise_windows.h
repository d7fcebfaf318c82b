// SPDX-License-Identifier: Apache-2.0
// The windows of a depthwise convolution, of which each belongs to one channel: where their
// taps are. Pure but for the memory that is given.
#pragma once

#include <cstdint>

#include "int8/widened_positions.h"

namespace gantry::x86 {

/// Places of windows that each belong to a channel which are multiplied at once, at most.
constexpr int64_t kMostPlacesTogether = 4;

/// What places are made of where each channel has a window of its own.
struct DepthwiseWindows {
  const uint8_t** taps;  ///< [places, 2 * pairs], of the channels' numbers
  int64_t pairs;
  const int64_t* offsets;  ///< [2 * pairs], of the taps from the first one, where all are inside
  const int32_t* initial;  ///< of the sums, [padded channels]
  const uint8_t* padding;  ///< a row of the number that stands for 0
  uint8_t* last;           ///< room for [places, 2 * pairs, kWidenedPanel]
};

/// Memory for prepare_windows(), in bytes.
int64_t depthwise_windows_bytes(const WidenedConvolution& convolution);
/// The views of the memory, aligned for pointers, all filled but for the taps.
DepthwiseWindows prepare_windows(const WidenedConvolution& convolution, void* memory);
/// Finds the taps at a place, [2 * pairs], of which a missing last one is of weights that are
/// zeros.
void find_taps(const WidenedConvolution& convolution, const WidenedPosition& at,
               const DepthwiseWindows& windows, const uint8_t** taps);

}  // namespace gantry::x86
