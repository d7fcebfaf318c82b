// SPDX-License-Identifier: Apache-2.0
// Convolutions of int8 values, channels innermost, with the tiles of AMX: 16 places of the
// target, 16 of its channels and 64 bytes of each place's window are multiplied by one instruction.
// Sums are exact integers; what follows is done in floats, in registers.
// A tile's places must stand at one distance in memory. So the source is laid out first, unless it
// lies that way: with its padding, the lines that one tap of a window with strides reads next to
// each other. Then a tap is a distance, the same for all places. Places over the padding are
// computed like the others, and dropped. Pure functions, from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "int8/epilogue.h"

namespace gantry::x86 {

constexpr int64_t kTilePlaces = 16;    ///< at most, of the target
constexpr int64_t kTileChannels = 16;  ///< of the target
constexpr int64_t kTileBytes = 64;     ///< of a place's window
constexpr int64_t kTileWeights = kTileChannels * kTileBytes;

/// True if this CPU has AMX's products of bytes, the system lets the process use them, and
/// ONEDNN_MAX_CPU_ISA does not forbid it. [any]
bool has_tile_code();

/// In which order the window of a place is multiplied: bytes that stand next to each other in the
/// source are one stretch, of which a tile takes 64 at once. It depends on the weights alone.
struct TileOrder {
  int64_t channels = 0;  ///< of the source
  int64_t window[2] = {1, 1};
  bool is_dense = true;  ///< taps of a line stand next to each other

  [[nodiscard]] int64_t stretches() const { return window[0] * (is_dense ? 1 : window[1]); }
  [[nodiscard]] int64_t taps_of_stretch() const { return is_dense ? window[1] : 1; }
  [[nodiscard]] int64_t stretch_bytes() const { return taps_of_stretch() * channels; }
  /// Tiles of a stretch, the last one filled up with weights of zero.
  [[nodiscard]] int64_t steps_of_stretch() const {
    return (stretch_bytes() + kTileBytes - 1) / kTileBytes;
  }
  [[nodiscard]] int64_t steps() const { return stretches() * steps_of_stretch(); }
};

/// A convolution of one group. Source and target have fewer than 2^31 places, padding included.
struct TileConvolution {
  TileOrder order;
  int64_t results = 0;  ///< channels of the target
  int64_t images = 1;
  int64_t strides[2] = {1, 1};
  int64_t dilations[2] = {1, 1};
  int64_t pads[2] = {0, 0};  ///< before the first pixel
  int64_t source[2] = {0, 0};
  int64_t target[2] = {0, 0};
  /// [result_tiles(), order.steps(), kTileBytes / 4, kTileChannels, 4], aligned to 64 bytes
  const int8_t* weights = nullptr;
  const int32_t* starts = nullptr;  ///< [results, padded], of the sums, aligned to 64 bytes
  const float* scales = nullptr;    ///< [results, padded], of the sums
  const float* bias = nullptr;      ///< [results, padded], in the measure of the scales
  bool is_signed = false;           ///< numbers of the source are
  uint8_t padding = 0;              ///< what a byte of the padding holds
  std::vector<Int8EpilogueStep> steps;
  Int8Type target_type = Int8Type::kU8;
  int32_t zero_point = 0;  ///< of results in int8

  [[nodiscard]] int64_t result_tiles() const {
    return (results + kTileChannels - 1) / kTileChannels;
  }
};

/// Where the places of a convolution stand once its source is laid out:
/// [phases, images, lines, line_bytes], a phase being the lines that are a stride apart.
struct TileLayout {
  explicit TileLayout(const TileConvolution& convolution);

  bool is_copied = false;  ///< false: the source is read where it stands
  int64_t place_bytes = 0;
  int64_t line_places = 0;       ///< of a line, those that are dropped too
  int64_t image_lines = 0;       ///< of a phase
  int64_t places = 0;            ///< from the first to the last that is kept
  int64_t taken_columns = 1;     ///< distance of the source's columns that are copied
  std::vector<int64_t> phases;   ///< first line of each
  std::vector<int64_t> offsets;  ///< of each step, from the first byte of a place
  int64_t size_bytes = 0;        ///< of the memory laid out, with what is read beyond it
  int64_t tile_places = 0;       ///< of a tile, at most kTilePlaces
  int64_t tiles = 0;             ///< of places

  [[nodiscard]] int64_t line_bytes() const { return line_places * place_bytes; }
  /// Lines to lay out.
  [[nodiscard]] int64_t lines(const TileConvolution& convolution) const {
    return static_cast<int64_t>(phases.size()) * convolution.images * image_lines;
  }
};

/// Lays out the lines [begin, end) of `source`: [images, source, channels]. `target`:
/// layout.size_bytes bytes. The call for the last line fills what is behind it.
void lay_out(const TileConvolution& convolution, const TileLayout& layout, const uint8_t* source,
             uint8_t* target, int64_t begin, int64_t end);

/// Tiles of places and of results that a call makes.
struct TileRange {
  int64_t first_places = 0;
  int64_t last_places = 0;
  int64_t first_results = 0;
  int64_t last_results = 0;
};

/// True if a part of the work reads more bytes of weights than of the source.
bool has_more_weights(const TileConvolution& convolution, const TileLayout& layout,
                      const TileRange& range);

struct TileTensors {
  const uint8_t* source = nullptr;  ///< laid out, or as it stands
  const uint8_t* addend = nullptr;  ///< null: there is none
  uint8_t* target = nullptr;        ///< may be the addend
};

/// Bytes of memory of its own that a call of multiply_tiles needs.
int64_t tile_scratch_of(const TileConvolution& convolution, const TileLayout& layout);

/// `addend`, `target`: [images, target, results]. `scratch`: tile_scratch_of() bytes, of this call
/// alone.
void multiply_tiles(const TileConvolution& convolution, const TileLayout& layout,
                    const TileTensors& tensors, const TileRange& range, uint8_t* scratch);

}  // namespace gantry::x86
