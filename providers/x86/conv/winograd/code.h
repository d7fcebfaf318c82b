// SPDX-License-Identifier: Apache-2.0
// Kernels of Winograd's minimal filtering (Lavin and Gray, arXiv:1509.09308), F(m x m, 3 x 3) for
// m = 2 and 4. Tiles of the input, which overlap by 2, are transformed into (m + 2)^2 positions for
// each channel. At each position the channels of many tiles are multiplied by a matrix, the
// transformed weights. The products are transformed back into m x m results. Written once
// (kernels.h) and compiled for each instruction set; the CPU and ONEDNN_MAX_CPU_ISA decide which
// one is used, as for oneDNN's own kernels.
#pragma once

#include <cstdint>

namespace gantry::x86::winograd {

/// m: results along an edge of a tile.
enum class Tile : uint8_t { k2 = 2, k4 = 4 };

constexpr int kTaps = 9;  ///< of a filter, [3, 3]
constexpr int kMostColumns = 32;
constexpr int kMostResults = 16;  ///< of a tile
constexpr int kMostPositions = 36;
constexpr int extent_of(Tile tile) { return static_cast<int>(tile) + 2; }  ///< of its input
constexpr int positions_of(Tile tile) { return extent_of(tile) * extent_of(tile); }

/// A step of the epilogue of these kernels.
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

/// Operands of the input transform: one tile.
struct InputTile {
  /// The channels of each pixel, [extent, extent]; zeros for padding.
  const float* const* pixels = nullptr;
  int64_t channels = 0;
  /// This tile's first element in [positions, channels / lanes rounded up, tiles, lanes]. Lanes
  /// beyond the last channel become zero.
  float* target = nullptr;
  int64_t position_stride = 0;  ///< in elements
  int64_t block_stride = 0;     ///< from `lanes` channels to the next, in elements
};

/// Operands of the weight transform: some channels of one panel.
struct TapPanel {
  const float* taps = nullptr;  ///< [channels, kTaps, columns]
  int64_t channels = 0;
  float* target = nullptr;      ///< [positions, channels, columns]
  int64_t position_stride = 0;  ///< in elements
};

/// Operands of the GEMM at one position: transformed tiles times a panel of transformed weights.
struct PositionGemm {
  int rows = 0;                  ///< tiles, 1 to Code::most_rows
  const float* tiles = nullptr;  ///< [channels / lanes, rows, lanes]
  int64_t block_stride = 0;      ///< from `lanes` channels of a tile to the next, in elements
  int64_t channels = 0;          ///< a multiple of lanes
  const float* panel = nullptr;  ///< [channels, columns]
  float* target = nullptr;       ///< [rows, columns]
  bool adds = false;             ///< true: accumulates into the target
};

/// Operands of the output transform and the epilogue: one tile of one panel.
struct OutputTile {
  /// [positions, columns]; for Transforms::results, which only applies the epilogue: sums, [tile,
  /// tile, columns]
  const float* products = nullptr;
  int64_t position_stride = 0;    ///< in elements
  float* target = nullptr;        ///< the tile's first pixel, at the panel's first channel
  const float* addend = nullptr;  ///< likewise, of the target's layout; null: none
  int64_t row_stride = 0;         ///< of target and addend, in elements
  int64_t column_stride = 0;      ///< of target and addend, in elements
  int rows = 0;                   ///< of the tile inside the output
  int columns = 0;                ///< of the tile inside the output
  int64_t channels = 0;           ///< of the output in this panel
  const float* bias = nullptr;    ///< one for each column of the panel
  const Step* steps = nullptr;
  int step_count = 0;
};

/// The functions of one instruction set. [any]
struct Code {
  const char* name;
  int lanes;      ///< elements of a vector
  int columns;    ///< output channels of a panel of weights, up to kMostColumns
  int most_rows;  ///< of a PositionGemm

  void (*multiply)(const PositionGemm& gemm);
  struct Transforms {
    /// False if the tile has NaN, infinity or values whose squares sum to 2^100 or more: the
    /// transforms would spread these over all its results, so use sum_directly() (direct_tile.h).
    bool (*input)(const InputTile& tile);
    void (*weights)(const TapPanel& panel);
    void (*output)(const OutputTile& tile);
    void (*results)(const OutputTile& tile);  ///< bias and epilogue only, for sum_directly()
  };
  Transforms two;
  Transforms four;

  [[nodiscard]] const Transforms& of(Tile tile) const { return tile == Tile::k2 ? two : four; }
};

/// The code for the best instruction set of the CPU that ONEDNN_MAX_CPU_ISA allows. [any]
const Code& code();

extern const Code kPlainCode;
extern const Code kAvx2Code;    ///< with FMA
extern const Code kAvx512Code;  ///< AVX-512 F

/// Interpolation points of F(4 x 4, 3 x 3): 0, kInner, -kInner, kOuter, -kOuter and infinity. With
/// them and their products exact in binary, errors are half of those with 1 and 2.
constexpr float kInner = 0.75F;
constexpr float kOuter = 1.5F;

}  // namespace gantry::x86::winograd
