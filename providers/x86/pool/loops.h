// SPDX-License-Identifier: Apache-2.0
// Pooling by compiled loops: for windows for which oneDNN has only reference code (dilated ones,
// and int8 tensors smaller than a vector), for NaN and infinity in max pooling, and for dynamic
// spatial extents. Pure functions, from any thread.
#pragma once

#include <cstdint>

#include "conv/window.h"

namespace gantry::x86 {

/// A pool over channels-last tensors.
struct PoolLoops {
  static constexpr int64_t kPartChannels = 64;  ///< computed at once, in registers

  Dims input;                   ///< [N, C, spatial...]
  Dims output;                  ///< [N, C, spatial...]
  Window window;                ///< its padding is replaced by `pads_begin`
  Dims pads_begin;              ///< by Window::place()
  bool is_max = false;          ///< max, else average
  bool counts_padding = false;  ///< count_include_pad
  /// An int8 average is stored as round((average + shift) * factor + zero_point), saturated.
  float shift = 0;
  float factor = 1;
  float zero_point = 0;

  /// Pixels of the output, over batch and spatial axes.
  [[nodiscard]] int64_t positions() const;
  /// Parts into which the channels of a pixel are divided: 1 for max; for average, whose windows
  /// may be whole images, one for each kPartChannels.
  [[nodiscard]] int64_t parts_of_position() const;
};

/// Computes parts [begin, end) of the output, counted pixel by pixel.
void pool(const PoolLoops& loops, const float* from, float* to, int64_t begin, int64_t end);
void pool(const PoolLoops& loops, const uint8_t* from, uint8_t* to, int64_t begin, int64_t end);
void pool(const PoolLoops& loops, const int8_t* from, int8_t* to, int64_t begin, int64_t end);

}  // namespace gantry::x86
