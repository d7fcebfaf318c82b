// SPDX-License-Identifier: Apache-2.0
// int8 convolutions on AMX tiles, channels-last. One instruction multiplies 64 bytes of the windows
// of 16 target pixels by the weights of 16 target channels. Sums are exact integers; the epilogue
// is computed in floats, in registers. The pixels of a tile must be at a constant stride in memory.
// So the source is first copied into a padded layout, unless it has that property already: the
// lines that one tap of a strided window reads are then neighbours (a phase), and a tap is a
// constant offset for all pixels. Pixels that fall on the padding between lines are computed like
// the others and dropped. Pure functions, from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "int8/epilogue.h"

namespace gantry::x86 {

constexpr int64_t kTilePositions = 16;  ///< most target pixels of a tile
constexpr int64_t kTileChannels = 16;   ///< target channels of a tile
constexpr int64_t kTileBytes = 64;      ///< bytes of a pixel's window in a tile
constexpr int64_t kTileWeights = kTileChannels * kTileBytes;

/// True if the CPU has AMX-INT8, the system lets the process use it, and ONEDNN_MAX_CPU_ISA allows
/// it. [any]
bool has_tile_code();

/// The order in which a window is multiplied. A stretch is a run of bytes of the window that is
/// contiguous in the source; a step multiplies 64 bytes of one. Depends on the weights alone.
/// Arrays of two, here and below, are [vertical, horizontal].
struct TileOrder {
  int64_t channels = 0;  ///< of the source
  int64_t window[2] = {1, 1};
  bool is_dense = true;  ///< the taps of a line are contiguous: no horizontal dilation

  [[nodiscard]] int64_t stretches() const { return window[0] * (is_dense ? 1 : window[1]); }
  [[nodiscard]] int64_t taps_of_stretch() const { return is_dense ? window[1] : 1; }
  [[nodiscard]] int64_t stretch_bytes() const { return taps_of_stretch() * channels; }
  /// Steps of a stretch; the last one is padded with zero weights.
  [[nodiscard]] int64_t steps_of_stretch() const {
    return (stretch_bytes() + kTileBytes - 1) / kTileBytes;
  }
  [[nodiscard]] int64_t steps() const { return stretches() * steps_of_stretch(); }
};

/// A convolution of one group. Source and target have fewer than 2^31 pixels, with padding.
struct TileConvolution {
  TileOrder order;
  int64_t results = 0;  ///< channels of the target
  int64_t images = 1;
  int64_t strides[2] = {1, 1};
  int64_t dilations[2] = {1, 1};
  int64_t pads[2] = {0, 0};    ///< top, left
  int64_t source[2] = {0, 0};  ///< extents
  int64_t target[2] = {0, 0};  ///< extents
  /// [result_tiles(), order.steps(), kTileBytes / 4, kTileChannels, 4], aligned to 64 bytes
  const int8_t* weights = nullptr;
  // [result_tiles() * kTileChannels], padded with zeros: result = sum * scale + bias.
  const int32_t* starts = nullptr;  ///< initial sums, aligned to 64 bytes
  const float* scales = nullptr;
  const float* bias = nullptr;
  bool is_signed = false;  ///< the source is s8, else u8
  uint8_t padding = 0;     ///< value of padding bytes: the source's zero point
  std::vector<Int8EpilogueStep> steps;
  Int8Type target_type = Int8Type::kU8;
  int32_t zero_point = 0;  ///< of the target, if it is int8

  [[nodiscard]] int64_t result_tiles() const {
    return (results + kTileChannels - 1) / kTileChannels;
  }
};

/// The padded layout of a source: [phases, images, image_lines, line_bytes]. A phase holds the
/// lines that are a vertical stride apart. Positions are the pixels of the layout, those that are
/// dropped included.
struct TileLayout {
  explicit TileLayout(const TileConvolution& convolution);

  bool is_copied = false;      ///< false: the source is read in place
  int64_t position_bytes = 0;  ///< stride from position to position
  int64_t line_positions = 0;
  int64_t image_lines = 0;       ///< of an image in a phase
  int64_t positions = 0;         ///< from the first to the last that has a result
  int64_t taken_columns = 1;     ///< only every so manyth column of the source is copied
  std::vector<int64_t> phases;   ///< first line of each
  std::vector<int64_t> offsets;  ///< of each step, from the first byte of a position
  int64_t size_bytes = 0;        ///< of the layout, with what is read beyond its last position
  int64_t tile_positions = 0;    ///< of a tile, at most kTilePositions
  int64_t tiles = 0;             ///< number of tiles of positions

  [[nodiscard]] int64_t line_bytes() const { return line_positions * position_bytes; }
  /// Lines of the layout.
  [[nodiscard]] int64_t lines(const TileConvolution& convolution) const {
    return static_cast<int64_t>(phases.size()) * convolution.images * image_lines;
  }
};

/// Copies lines [begin, end) of the layout from `source`, [images, source, channels], to `target`,
/// layout.size_bytes bytes. The call for the last line also fills the bytes after it.
void lay_out(const TileConvolution& convolution, const TileLayout& layout, const uint8_t* source,
             uint8_t* target, int64_t begin, int64_t end);

/// Part of the work: ranges of tiles of positions and of tiles of target channels.
struct TileRange {
  int64_t first_positions = 0;
  int64_t last_positions = 0;
  int64_t first_results = 0;
  int64_t last_results = 0;
};

/// True if the part reads more bytes of weights than of the source.
bool has_more_weights(const TileConvolution& convolution, const TileLayout& layout,
                      const TileRange& range);

struct TileTensors {
  const uint8_t* source = nullptr;  ///< in the layout; if not is_copied, [images, source, channels]
  const uint8_t* addend = nullptr;  ///< [images, target, results]; null: none
  uint8_t* target = nullptr;        ///< [images, target, results]; may be the addend
};

/// Bytes of scratch memory of a call of multiply_tiles().
int64_t tile_scratch_of(const TileConvolution& convolution, const TileLayout& layout);

/// Computes the results of `range`. `scratch`: tile_scratch_of() bytes, not shared with other
/// calls. Requires has_tile_code().
void multiply_tiles(const TileConvolution& convolution, const TileLayout& layout,
                    const TileTensors& tensors, const TileRange& range, uint8_t* scratch);

}  // namespace gantry::x86
