// SPDX-License-Identifier: Apache-2.0
// Convolutions of int8 values, channels innermost, with AVX-512 and its instruction for
// products of bytes (VNNI). Sums are exact integers; what follows is done in floats, in registers.
// The weights stand in panels of 64 channels of the result. A panel that the cache does not hold
// yet is asked for while the one before it is multiplied: with few places and many channels that is
// what a convolution waits for. Pure functions, from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "int8/epilogue.h"

namespace gantry::x86 {

constexpr int64_t kPanelChannels = 64;  ///< of the result
constexpr int64_t kVectorChannels = 16;
constexpr int64_t kByteQuad = 4;  ///< channels of the source that are multiplied at once

/// True if this CPU has the instructions and the environment allows them. [any]
bool has_vnni_code();

constexpr int64_t kMostTaps = 49;

/// Shapes and weights of a convolution.
struct VnniConvolution {
  int64_t channels = 0;  ///< of the source, a multiple of kByteQuad
  int64_t results = 0;   ///< channels of the target
  int64_t window[2] = {1, 1};
  int64_t strides[2] = {1, 1};
  int64_t dilations[2] = {1, 1};
  int64_t pads[2] = {0, 0};  ///< before the first pixel
  int64_t source[2] = {0, 0};
  int64_t target[2] = {0, 0};
  /// [panels, taps, channels / kByteQuad, kPanelChannels, kByteQuad], the last panel having only
  /// as many vectors of channels as it needs
  const int8_t* weights = nullptr;
  const int32_t* starts = nullptr;   ///< [results, padded], of the sums
  const float* scales = nullptr;     ///< [results, padded], of the sums
  const float* bias = nullptr;       ///< [results, padded], in the measure of the scales
  const uint8_t* padding = nullptr;  ///< [channels]: what a pixel of the padding holds
  std::vector<Int8EpilogueStep> steps;
  Int8Type target_type = Int8Type::kU8;
  int32_t zero_point = 0;  ///< of results in int8

  [[nodiscard]] int64_t panels() const { return (results + kPanelChannels - 1) / kPanelChannels; }
  /// True if each pixel of the target is made of the one in the same place.
  [[nodiscard]] bool is_plain() const {
    return taps() == 1 && strides[0] == 1 && strides[1] == 1 && pads[0] == 0 && pads[1] == 0 &&
           source[0] == target[0] && source[1] == target[1];
  }
  [[nodiscard]] int64_t taps() const { return window[0] * window[1]; }
  /// Vectors of channels in a panel.
  [[nodiscard]] int64_t vectors_of(int64_t panel) const {
    const int64_t left = results - panel * kPanelChannels;
    return ((left < kPanelChannels ? left : kPanelChannels) + kVectorChannels - 1) /
           kVectorChannels;
  }
  /// Bytes of all weights.
  [[nodiscard]] int64_t weight_bytes() const {
    return taps() * channels * ((results + kVectorChannels - 1) / kVectorChannels) *
           kVectorChannels;
  }
};

/// Results are made in tiles: of a panel, some pixels next to each other.
int64_t tiles_of(const VnniConvolution& convolution, int64_t panel, int64_t pixels);

/// Tiles [begin, end) of all panels' tiles, panel by panel. `source`: [images, source, channels];
/// `addend` (null: there is none), `target`: [images, target, results], which may be the same.
/// `pixels`: of all images of the target, less than 2^31.
void convolve_tiles(const VnniConvolution& convolution, const uint8_t* source,
                    const uint8_t* addend, void* target, int64_t pixels, int64_t begin,
                    int64_t end);

}  // namespace gantry::x86
