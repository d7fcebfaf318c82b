// SPDX-License-Identifier: Apache-2.0
// Addresses of the taps of int8 depthwise convolutions. Pure functions, except for the memory that
// the caller passes.
#pragma once

#include <cstdint>

#include "int8/widened_positions.h"

namespace gantry::x86 {

/// Most target pixels that are computed at once.
constexpr int64_t kMostPositionsTogether = 4;

/// Views of the memory of prepare_windows().
struct DepthwiseWindows {
  const uint8_t** taps;  ///< [kMostPositionsTogether, 2 * pairs]: the channels of each tap's pixel
  int64_t pairs;         ///< of taps
  const int64_t* offsets;  ///< [2 * pairs]: from the first tap, if none is in the padding
  const int32_t* initial;  ///< [padded channels]: initial sums, which compensate the zero point
  const uint8_t* padding;  ///< a pixel of the source's zero point
  uint8_t* last;           ///< [kMostPositionsTogether, 2 * pairs, kWidenedPanel]: partial panels
};

/// Bytes of memory for prepare_windows().
int64_t depthwise_windows_bytes(const WidenedConvolution& convolution);
/// Divides `memory`, aligned for pointers, into the views and fills all but `taps` and `last`.
DepthwiseWindows prepare_windows(const WidenedConvolution& convolution, void* memory);
/// Writes the taps of a target pixel to `taps`, [2 * pairs]. With an odd number of taps the last
/// entry is a dummy, whose weights are zero.
void find_taps(const WidenedConvolution& convolution, const WidenedPosition& at,
               const DepthwiseWindows& windows, const uint8_t** taps);

}  // namespace gantry::x86
