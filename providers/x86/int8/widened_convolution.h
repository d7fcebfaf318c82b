// SPDX-License-Identifier: Apache-2.0
// A convolution or product of int8 values with exact sums (widened.h): its shape, and how its
// weights are packed. A value type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "int8/epilogue.h"

namespace gantry::x86 {

/// Weights, scales and biases stand in panels of so many results, the missing ones being zero.
constexpr int64_t kWidenedPanel = 16;
constexpr int64_t kHalfPanel = kWidenedPanel / 2;
constexpr int64_t widened_panels_of(int64_t results) {
  return (results + kWidenedPanel - 1) / kWidenedPanel;
}

/// Of so many products of a number of 9 bits (a byte less its zero point) and one of 8 any sum
/// fits into 32 bits.
constexpr int64_t kMostWidenedProducts = 65536;

/// Weights as byte_panels.h packs them.
struct BytePanels {
  const int8_t* weights = nullptr;  ///< [groups, panels, quads(), kWidenedPanel, 4]
  const int32_t* sums = nullptr;    ///< [groups, panels, kWidenedPanel], of all weights
  /// [groups, panels, 2]: behind the extra quads of half a panel, which begin where those before it
  /// end.
  const int32_t* extra_ends = nullptr;
  const int32_t* extra_quads = nullptr;   ///< which quads they are multiplied with
  const int8_t* extra_weights = nullptr;  ///< [extras, kHalfPanel, 4]
};

/// A convolution of tensors whose channels stand innermost; a product of matrices is one of a
/// window of one place, its rows being places. Three axes, of which the missing ones, the first
/// ones, have one place.
struct WidenedConvolution {
  using Axes = std::array<int64_t, 3>;
  int64_t groups = 1;
  int64_t channels = 0;  ///< of a group in the source
  int64_t results = 0;   ///< of a group in the target
  Axes window = {1, 1, 1};
  Axes strides = {1, 1, 1};
  Axes dilations = {1, 1, 1};
  Axes pads = {0, 0, 0};  ///< before the first place
  Axes source = {1, 1, 1};
  Axes target = {1, 1, 1};
  bool is_signed = false;   ///< numbers of the source are
  int32_t source_zero = 0;  ///< the number of the source that stands for 0
  /// [groups, panels, pairs(), kWidenedPanel, 2], or, is_depthwise(), the same without groups
  const int8_t* weights = nullptr;
  BytePanels bytes;  ///< in place of `weights`, unless it has none
  /// [groups, panels, kWidenedPanel], or [panels, kWidenedPanel], of the sums; not read for kS32
  const float* scales = nullptr;
  const float* bias = nullptr;  ///< likewise, in the measure of the scales
  const Int8EpilogueStep* steps = nullptr;
  size_t step_count = 0;
  Int8Type target_type = Int8Type::kU8;
  int32_t target_zero = 0;  ///< of results in int8

  [[nodiscard]] int64_t taps() const { return window[0] * window[1] * window[2]; }
  /// Pairs of products of which a result is the sum, a missing one being zero.
  [[nodiscard]] int64_t pairs() const { return (taps() * channels + 1) / 2; }
  /// Likewise, in fours.
  [[nodiscard]] int64_t quads() const { return (taps() * channels + 3) / 4; }
  /// True if each channel has a window of its own.
  [[nodiscard]] bool is_depthwise() const { return groups > 1 && channels == 1 && results == 1; }
  /// True if a place of the target is made of the place of the source with its number.
  [[nodiscard]] bool is_product() const {
    return groups == 1 && taps() == 1 && strides == Axes{1, 1, 1} && pads == Axes{0, 0, 0} &&
           source == target;
  }
  /// Panels of a group, or, is_depthwise(), of all channels.
  [[nodiscard]] int64_t panels() const {
    return widened_panels_of(is_depthwise() ? groups : results);
  }
};

}  // namespace gantry::x86
