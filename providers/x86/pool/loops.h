// SPDX-License-Identifier: Apache-2.0
// Pooling by compiled loops, for windows that the library has only reference code for (dilated
// ones, and int8 tensors smaller than a vector), for what is no number, and for images of open
// size. Pure functions, from any thread.
#pragma once

#include <cstdint>

#include "conv/window.h"

namespace gantry::x86 {

/// What is pooled. Extents are of tensors [N, C, spatial...], which stand channels-last.
struct PoolLoops {
  static constexpr int64_t kPartChannels = 64;  ///< made at once, in registers

  Dims input;
  Dims output;
  Window window;                ///< without what place() settles
  Dims pads_begin;              ///< as placed
  bool is_max = false;          ///< else a mean
  bool counts_padding = false;  ///< in the mean
  /// A mean of int8 values is stored as round((mean + shift) * factor + zero_point), saturated.
  float shift = 0;
  float factor = 1;
  float zero_point = 0;

  /// Positions of the output, batch and spatial axes together.
  [[nodiscard]] int64_t positions() const;
  /// Parts that the channels of a position are made in: more than one of means, whose windows may
  /// be whole images.
  [[nodiscard]] int64_t parts_of_position() const;
};

/// Parts [begin, end) of the output, all of a position together.
void pool(const PoolLoops& loops, const float* from, float* to, int64_t begin, int64_t end);
void pool(const PoolLoops& loops, const uint8_t* from, uint8_t* to, int64_t begin, int64_t end);
void pool(const PoolLoops& loops, const int8_t* from, int8_t* to, int64_t begin, int64_t end);

}  // namespace gantry::x86
