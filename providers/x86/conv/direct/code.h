// SPDX-License-Identifier: Apache-2.0
// Convolutions of few channels in f32, whose result has its channels innermost: in groups, of one
// pixel or of one channel for each group, and of images. Written once with Highway for all
// instruction sets; which is used follows from the CPU, or from ONEDNN_MAX_CPU_ISA, as with the
// library's own kernels. Pure functions, from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuse/epilogue.h"

namespace gantry::x86 {

/// Weights and biases stand in blocks of so many channels, the missing ones being zero.
constexpr int64_t kChannelBlock = 16;
constexpr int64_t blocks_of(int64_t channels) {
  return (channels + kChannelBlock - 1) / kChannelBlock;
}

/// Taps of a row of a window, [first, last), that lie inside a row of `width` pixels if the first
/// tap stands on pixel `start`.
struct TapRange {
  int64_t first = 0;
  int64_t last = 0;
};
constexpr TapRange taps_inside(int64_t taps, int64_t dilation, int64_t start, int64_t width) {
  const int64_t missing = start < 0 ? (-start + dilation - 1) / dilation : 0;
  const int64_t existing = start < width ? (width - start + dilation - 1) / dilation : 0;
  return {missing < taps ? missing : taps, existing < taps ? existing : taps};
}

/// What is done to a result before it is stored.
struct TileStep {
  enum class Kind : uint8_t {
    kAdd,          ///< the addend's element is added
    kRelu,         ///< x < 0 ? alpha * x : x
    kClip,         ///< to [alpha, beta]
    kHardSigmoid,  ///< alpha * x + beta, clipped to [0, 1]
    kHardSwish,    ///< x times that
    kSigmoid,      ///< 1 / (1 + e^(-x))
    kSwish         ///< x times that of alpha * x
  } kind = Kind::kAdd;
  float alpha = 0;
  float beta = 0;
};

/// A epilogue's steps; nothing: there is one among them that these kernels do not have.
std::optional<std::vector<TileStep>> tile_steps_of(const Epilogue& epilogue);

/// Pixels whose channels are multiplied, group by group, with a matrix for each group.
struct Grouped1x1 {
  int64_t groups = 0;
  int64_t inner = 0;    ///< channels of a group in the source
  int64_t columns = 0;  ///< channels of a group in the target
  /// [groups, blocks_of(columns), inner, kChannelBlock]
  const float* weights = nullptr;
  const float* bias = nullptr;  ///< [groups, blocks_of(columns), kChannelBlock]
  const std::vector<TileStep>* steps = nullptr;
};

/// `source`: [pixels, groups * inner]; `addend` (null: there is none), `target`: [pixels, groups *
/// columns]; addend and target may be the same.
void multiply_groups(const Grouped1x1& product, const float* source, const float* addend,
                     float* target, int64_t pixels);

/// A convolution of each channel with a window of its own.
struct DepthwiseWindow {
  int64_t channels = 0;
  int64_t height = 0;  ///< of the window
  int64_t width = 0;
  int64_t stride = 0;  ///< along a row, as all that follows
  int64_t dilation = 0;
  int64_t pad = 0;  ///< pixels before the first one
  /// [height, width, blocks_of(channels), kChannelBlock]
  const float* weights = nullptr;
  const float* bias = nullptr;  ///< [blocks_of(channels), kChannelBlock]
  const std::vector<TileStep>* steps = nullptr;
};

/// One row of results. `rows`: for each row of the window that of the source, [source_width,
/// channels], null where it lies in the padding; `addend` (null: there is none), `target`:
/// [target_width, channels], which may be the same.
void convolve_row(const DepthwiseWindow& window, const float* const* rows, int64_t source_width,
                  const float* addend, float* target, int64_t target_width);

/// A convolution of an image of few channels.
struct NarrowWindow {
  int64_t channels = 0;
  int64_t height = 0;  ///< of the window
  int64_t width = 0;
  int64_t stride = 0;  ///< along a row, as all that follows
  int64_t dilation = 0;
  int64_t pad = 0;            ///< pixels before the first one
  int64_t position_step = 0;  ///< of the source, in elements
  int64_t results = 0;        ///< channels of the target
  /// [blocks_of(results), channels, height, width, kChannelBlock]
  const float* weights = nullptr;
  const float* bias = nullptr;  ///< [blocks_of(results), kChannelBlock]
  const std::vector<TileStep>* steps = nullptr;
};

/// One row of results. `rows`: for each channel, and for each row of the window, that of the
/// source, `source_width` pixels, null where it lies in the padding; `addend` (null: there is
/// none), `target`: [target_width, results], which may be the same.
void convolve_narrow_row(const NarrowWindow& window, const float* const* rows, int64_t source_width,
                         const float* addend, float* target, int64_t target_width);

/// Channel c * groups + g of the target is channel g * (channels / groups) + c of the source; both
/// are [pixels, channels].
void shuffle_channels(const float* source, float* target, int64_t pixels, int64_t channels,
                      int64_t groups);

}  // namespace gantry::x86
