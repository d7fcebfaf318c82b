// SPDX-License-Identifier: Apache-2.0
// The inner parts of a convolution by Winograd's minimal filtering, F(m x m, 3 x 3) for m = 2 and
// 4: tiles of the input, which overlap by 2, are transformed into (m + 2)^2 numbers for each
// channel; at each of these positions the channels of many tiles are multiplied by a matrix, the
// transformed weights; the products are transformed back into m x m results. Written once
// (kernels.h), compiled for each instruction set; which one is used follows from the CPU, or from
// ONEDNN_MAX_CPU_ISA, as with the library's own kernels.
#pragma once

#include <cstdint>

namespace gantry::x86::winograd {

/// Results along an edge of a tile.
enum class Tile : uint8_t { k2 = 2, k4 = 4 };

constexpr int kTaps = 9;  ///< of a filter, [3, 3]
constexpr int kMostColumns = 32;
constexpr int kMostResults = 16;  ///< of a tile
constexpr int kMostPositions = 36;
constexpr int extent_of(Tile tile) { return static_cast<int>(tile) + 2; }  ///< of its input
constexpr int positions_of(Tile tile) { return extent_of(tile) * extent_of(tile); }

/// What is done to a result before it is stored.
struct Step {
  enum class Kind : uint8_t {
    kAdd,          ///< x + the addend's element
    kRelu,         ///< x > 0 ? x : alpha * x
    kClip,         ///< min(max(x, alpha), beta)
    kHardSigmoid,  ///< min(max(alpha * x + beta, 0), 1)
    kHardSwish,    ///< x * min(max(alpha * x + beta, 0), 1)
    kSigmoid,      ///< 1 / (1 + exp(-x))
    kSwish,        ///< x / (1 + exp(-alpha * x))
    kMish          ///< x * tanh(log(1 + exp(x)))
  } kind;
  float alpha = 0;
  float beta = 0;
};

/// One tile of the input, on its way to its place among the transformed ones.
struct InputTile {
  /// Where the channels of each of its places are, [extent, extent]; outside of the input a row of
  /// zeros.
  const float* const* places = nullptr;
  int64_t channels = 0;
  /// [positions, channels / lanes rounded up, tiles, lanes], of this tile. Lanes beyond the last
  /// channel become zero.
  float* target = nullptr;
  int64_t position_stride = 0;  ///< in elements
  int64_t block_stride = 0;     ///< from `lanes` channels to the next, in elements
};

/// Weights of one panel, on their way to the transformed ones.
struct TapPanel {
  const float* taps = nullptr;  ///< [channels, kTaps, columns]
  int64_t channels = 0;
  float* target = nullptr;      ///< [positions, channels, columns]
  int64_t position_stride = 0;  ///< in elements
};

/// Transformed tiles times a panel of the transformed weights, at one position.
struct Product {
  int rows = 0;                  ///< tiles, 1 to most_rows
  const float* tiles = nullptr;  /// [channels / lanes rounded up, rows of many, lanes]
  int64_t block_stride = 0;      ///< in elements
  int64_t channels = 0;          ///< a multiple of lanes
  const float* panel = nullptr;  ///< [channels, columns]
  float* target = nullptr;       ///< [rows, columns]
  bool adds = false;             ///< to what the target has
};

/// The products of one tile with one panel, or its results, on their way to the output.
struct OutputTile {
  const float* products = nullptr;  ///< [positions, columns]; results: [tile, tile, columns]
  int64_t position_stride = 0;      ///< in elements
  float* target = nullptr;          ///< first element, with the panel's first channel
  const float* addend = nullptr;    ///< likewise, as the target lies; null: nothing is added
  int64_t row_stride = 0;           ///< in elements
  int64_t column_stride = 0;        ///< in elements
  int rows = 0;                     ///< that exist of the tile
  int columns = 0;                  ///< that exist of the tile
  int64_t channels = 0;             ///< that exist of the panel
  const float* bias = nullptr;      ///< one for each column of the panel
  const Step* steps = nullptr;
  int step_count = 0;
};

/// The functions of one instruction set. [any]
struct Code {
  const char* name;
  int lanes;      ///< numbers of a vector
  int columns;    ///< channels of the output in a panel of the weights, up to kMostColumns
  int most_rows;  ///< of a product

  void (*multiply)(const Product& product);
  struct Transforms {
    /// True if each number is below 2^50. Others the transforms would spread over the tile.
    bool (*input)(const InputTile& tile);
    void (*weights)(const TapPanel& panel);
    void (*output)(const OutputTile& tile);
    void (*results)(const OutputTile& tile);  ///< that need not be transformed back
  };
  Transforms two;
  Transforms four;

  [[nodiscard]] const Transforms& of(Tile tile) const { return tile == Tile::k2 ? two : four; }
};

/// The best that this CPU has and the environment allows. [any]
const Code& code();

extern const Code kPlainCode;
extern const Code kAvx2Code;    ///< with FMA
extern const Code kAvx512Code;  ///< AVX-512 F

/// Interpolation points of F(4 x 4, 3 x 3): 0, kInner, -kInner, kOuter, -kOuter and infinity. With
/// them and their products exact in binary, errors are half of those with 1 and 2.
constexpr float kInner = 0.75F;
constexpr float kOuter = 1.5F;

}  // namespace gantry::x86::winograd
