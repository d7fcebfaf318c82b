// SPDX-License-Identifier: Apache-2.0
// Shape and packed weights of an int8 convolution or matmul with exact sums (widened.h). Value
// types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "int8/epilogue.h"

namespace gantry::x86 {

/// Target channels of a panel of weights, scales and biases. The last panel is padded with zeros.
constexpr int64_t kWidenedPanel = 16;
constexpr int64_t kHalfPanel = kWidenedPanel / 2;
constexpr int64_t widened_panels_of(int64_t results) {
  return (results + kWidenedPanel - 1) / kWidenedPanel;
}

/// Most products of a sum. Each is of 9 bits (a byte less its zero point) times 8 bits, so that the
/// sum fits 32 bits.
constexpr int64_t kMostWidenedProducts = 65536;

/// Weights as byte_panels.h packs them.
struct BytePanels {
  const int8_t* weights = nullptr;  ///< [groups, panels, quads(), kWidenedPanel, 4]
  const int32_t* sums = nullptr;    ///< [groups, panels, kWidenedPanel], of all weights
  /// [groups, panels, 2]: end of each half panel's extra quads, which start at the previous end
  const int32_t* extra_ends = nullptr;
  const int32_t* extra_quads = nullptr;   ///< [extras]: index of the source quad of each
  const int8_t* extra_weights = nullptr;  ///< [extras, kHalfPanel, 4]
  /// No weight was moved to an extra quad: for VPDPBUSD, whose sums do not saturate.
  bool are_whole = false;
};

/// A channels-last convolution over three spatial axes; missing ones are the first and have extent
/// 1. A matmul is a 1x1 convolution whose rows are pixels.
struct WidenedConvolution {
  using Axes = std::array<int64_t, 3>;
  int64_t groups = 1;
  int64_t channels = 0;  ///< of a group in the source
  int64_t results = 0;   ///< of a group in the target
  Axes window = {1, 1, 1};
  Axes strides = {1, 1, 1};
  Axes dilations = {1, 1, 1};
  Axes pads = {0, 0, 0};    ///< at the start of each axis
  Axes source = {1, 1, 1};  ///< extents
  Axes target = {1, 1, 1};  ///< extents
  bool is_signed = false;   ///< the source is s8, else u8
  int32_t source_zero = 0;  ///< zero point of the source
  /// [groups, panels, pairs(), kWidenedPanel, 2]; if is_depthwise(), without the axis of groups
  const int8_t* weights = nullptr;
  BytePanels bytes;  ///< used instead of `weights` if bytes.weights is set
  /// [groups, panels, kWidenedPanel], if is_depthwise() without groups: result = sum * scale +
  /// bias. Not read for kS32.
  const float* scales = nullptr;
  const float* bias = nullptr;  ///< as the scales
  const Int8EpilogueStep* steps = nullptr;
  size_t step_count = 0;
  Int8Type target_type = Int8Type::kU8;
  int32_t target_zero = 0;  ///< zero point of the target, if it is int8

  [[nodiscard]] int64_t taps() const { return window[0] * window[1] * window[2]; }
  /// Pairs of products of a sum, padded with zero weights.
  [[nodiscard]] int64_t pairs() const { return (taps() * channels + 1) / 2; }
  /// Quads of products of a sum, padded with zero weights.
  [[nodiscard]] int64_t quads() const { return (taps() * channels + 3) / 4; }
  [[nodiscard]] bool is_depthwise() const { return groups > 1 && channels == 1 && results == 1; }
  /// True of a matmul: 1x1, one group, no strides, no padding.
  [[nodiscard]] bool is_product() const {
    return groups == 1 && taps() == 1 && strides == Axes{1, 1, 1} && pads == Axes{0, 0, 0} &&
           source == target;
  }
  /// Panels of a group; if is_depthwise(), of all channels.
  [[nodiscard]] int64_t panels() const {
    return widened_panels_of(is_depthwise() ? groups : results);
  }
};

}  // namespace gantry::x86
