// SPDX-License-Identifier: Apache-2.0
// Direct f32 convolutions with few channels per group and a channels-last result: grouped 1x1,
// depthwise, and of an image of few channels. Written once with Highway for all instruction sets
// (simd/instructions.h). Pure functions, from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuse/epilogue.h"

namespace gantry::x86 {

/// Channels of a block of weights and biases. The last block is padded with zeros.
constexpr int64_t kChannelBlock = 16;
constexpr int64_t blocks_of(int64_t channels) {
  return (channels + kChannelBlock - 1) / kChannelBlock;
}

/// Taps of a window's row, [first, last), that are inside a source row of `width` pixels if the
/// first tap is at pixel `start`.
struct TapRange {
  int64_t first = 0;
  int64_t last = 0;
};
constexpr TapRange taps_inside(int64_t taps, int64_t dilation, int64_t start, int64_t width) {
  const int64_t missing = start < 0 ? (-start + dilation - 1) / dilation : 0;
  const int64_t existing = start < width ? (width - start + dilation - 1) / dilation : 0;
  return {missing < taps ? missing : taps, existing < taps ? existing : taps};
}

/// A step of the epilogue of these kernels.
struct TileStep {
  enum class Kind : uint8_t {
    kAdd,          ///< x + the addend's element
    kRelu,         ///< x < 0 ? alpha * x : x
    kClip,         ///< to [alpha, beta]
    kHardSigmoid,  ///< clip(alpha * x + beta, 0, 1)
    kHardSwish,    ///< x * clip(alpha * x + beta, 0, 1)
    kSigmoid,      ///< 1 / (1 + e^(-x))
    kSwish         ///< x / (1 + e^(-alpha * x))
  } kind = Kind::kAdd;
  float alpha = 0;
  float beta = 0;
};

/// The steps of an epilogue; nothing if these kernels lack one of them.
std::optional<std::vector<TileStep>> tile_steps_of(const Epilogue& epilogue);

/// A grouped 1x1 convolution: each group's channels of a pixel times a matrix of its own.
struct Grouped1x1 {
  int64_t groups = 0;
  int64_t inner = 0;    ///< channels of a group in the source
  int64_t columns = 0;  ///< channels of a group in the target
  /// [groups, blocks_of(columns), inner, kChannelBlock]
  const float* weights = nullptr;
  const float* bias = nullptr;  ///< [groups, blocks_of(columns), kChannelBlock]
  const std::vector<TileStep>* steps = nullptr;
};

/// `source`: [pixels, groups * inner]; `target`: [pixels, groups * columns]; `addend`: as the
/// target, which it may be; null: none.
void multiply_groups(const Grouped1x1& product, const float* source, const float* addend,
                     float* target, int64_t pixels);

/// A depthwise convolution.
struct DepthwiseWindow {
  int64_t channels = 0;
  int64_t height = 0;    ///< of the window
  int64_t width = 0;     ///< of the window
  int64_t stride = 0;    ///< horizontal
  int64_t dilation = 0;  ///< horizontal
  int64_t pad = 0;       ///< left
  /// [height, width, blocks_of(channels), kChannelBlock]
  const float* weights = nullptr;
  const float* bias = nullptr;  ///< [blocks_of(channels), kChannelBlock]
  const std::vector<TileStep>* steps = nullptr;
};

/// Computes one row of the target, [target_width, channels]. `rows`: [window.height], each the
/// source row under that row of the window, [source_width, channels]; null: padding. `addend`: as
/// the target, which it may be; null: none.
void convolve_row(const DepthwiseWindow& window, const float* const* rows, int64_t source_width,
                  const float* addend, float* target, int64_t target_width);

/// A convolution of one group with few input channels.
struct NarrowWindow {
  int64_t channels = 0;       ///< of the source
  int64_t height = 0;         ///< of the window
  int64_t width = 0;          ///< of the window
  int64_t stride = 0;         ///< horizontal
  int64_t dilation = 0;       ///< horizontal
  int64_t pad = 0;            ///< left
  int64_t position_step = 0;  ///< elements from pixel to pixel of the source
  int64_t results = 0;        ///< channels of the target
  /// [blocks_of(results), channels, height, width, kChannelBlock]
  const float* weights = nullptr;
  const float* bias = nullptr;  ///< [blocks_of(results), kChannelBlock]
  const std::vector<TileStep>* steps = nullptr;
};

/// Computes one row of the target, [target_width, results]. `rows`: [window.channels,
/// window.height], each a channel's source row of `source_width` pixels, `position_step` apart;
/// null: padding. `addend`: as the target, which it may be; null: none.
void convolve_narrow_row(const NarrowWindow& window, const float* const* rows, int64_t source_width,
                         const float* addend, float* target, int64_t target_width);

/// Channel shuffle: channel c * groups + g of the target is channel g * (channels / groups) + c of
/// the source. Both are [pixels, channels].
void shuffle_channels(const float* source, float* target, int64_t pixels, int64_t channels,
                      int64_t groups);

}  // namespace gantry::x86
