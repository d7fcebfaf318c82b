// SPDX-License-Identifier: Apache-2.0
// int8 convolutions with AVX-512 VNNI, channels-last. Sums are exact integers; the epilogue is
// computed in floats, in registers. The weights are packed in panels of 64 target channels. While
// one panel is multiplied the next one is prefetched: with few pixels and many channels a
// convolution is bound by reading its weights. Pure functions, from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "int8/epilogue.h"

namespace gantry::x86 {

constexpr int64_t kPanelChannels = 64;   ///< target channels of a panel
constexpr int64_t kVectorChannels = 16;  ///< target channels of a vector
constexpr int64_t kByteQuad = 4;         ///< source channels that one instruction multiplies

/// True if the CPU has AVX-512 VNNI and ONEDNN_MAX_CPU_ISA allows it. [any]
bool has_vnni_code();
/// True if it has VPDPBUSD, in AVX-512 VNNI or in AVX-VNNI (CPUs with AVX2 alone), and
/// ONEDNN_MAX_CPU_ISA allows it: four products are added in 32 bits, and no sum saturates. [any]
bool has_quad_sums();

constexpr int64_t kMostTaps = 49;

/// A convolution of one group with a u8 source. Arrays of two are [vertical, horizontal].
struct VnniConvolution {
  int64_t channels = 0;  ///< of the source, a multiple of kByteQuad
  int64_t results = 0;   ///< channels of the target
  int64_t window[2] = {1, 1};
  int64_t strides[2] = {1, 1};
  int64_t dilations[2] = {1, 1};
  int64_t pads[2] = {0, 0};    ///< top, left
  int64_t source[2] = {0, 0};  ///< extents
  int64_t target[2] = {0, 0};  ///< extents
  /// [panels, taps, channels / kByteQuad, kPanelChannels, kByteQuad]; the last panel has only the
  /// vectors of channels that it needs
  const int8_t* weights = nullptr;
  // [results], padded with zeros to whole vectors: result = sum * scale + bias.
  const int32_t* starts = nullptr;  ///< initial sums
  const float* scales = nullptr;
  const float* bias = nullptr;
  const uint8_t* padding = nullptr;  ///< [channels]: a pixel of the source's zero point
  std::vector<Int8EpilogueStep> steps;
  Int8Type target_type = Int8Type::kU8;
  int32_t zero_point = 0;  ///< of the target, if it is int8

  [[nodiscard]] int64_t panels() const { return (results + kPanelChannels - 1) / kPanelChannels; }
  /// True of a 1x1 convolution without strides and padding.
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

/// Number of tiles of a panel; a tile is some neighbouring pixels of a panel.
int64_t tiles_of(const VnniConvolution& convolution, int64_t panel, int64_t pixels);

/// Computes tiles [begin, end), counted over all panels, panel by panel. `source`: [images, source,
/// channels]; `target`: [images, target, results]; `addend`: as the target, which it may be; null:
/// none. `pixels`: of all images of the target, less than 2^31. Requires has_vnni_code().
void convolve_tiles(const VnniConvolution& convolution, const uint8_t* source,
                    const uint8_t* addend, void* target, int64_t pixels, int64_t begin,
                    int64_t end);

}  // namespace gantry::x86
