// SPDX-License-Identifier: Apache-2.0
// Matmul of f32 rows with a matrix quantized to 4 or 8 bits in blocks along the inner axis
// (MatMulNBits). The rows are quantized to s8 in each run, with a scale for each block, and a
// block's sums are integers; or the rows stay f32. Written once for each instruction set; the CPU
// and ONEDNN_MAX_CPU_ISA decide which one is used, as for oneDNN's own kernels.
#pragma once

#include <cstdint>

namespace gantry::x86 {

/// Columns of a packed group: one for each of 16 lanes of 32 bits.
constexpr int kGroup = 16;
/// Consecutive elements of one column that a lane multiplies at once.
constexpr int kQuad = 4;

struct BlockShape {
  int64_t inner = 0;    ///< K, the extent that is summed over
  int64_t columns = 0;  ///< N, of the result
  int64_t block = 0;    ///< elements of one column that share a scale: 16, 32, 64 or 128
  int bits = 4;         ///< of an element: 4 or 8

  [[nodiscard]] int64_t blocks() const { return (inner + block - 1) / block; }
  [[nodiscard]] int64_t padded() const { return blocks() * block; }
  /// Vectors of kGroup * kQuad bytes in a block. With 4 bits, the low nibbles of a vector are one
  /// quad of each column and the high nibbles the next quad.
  [[nodiscard]] int64_t vectors() const { return block * bits / (8 * kQuad); }
};

/// kGroup packed columns.
struct ColumnGroup {
  const uint8_t* numbers = nullptr;  ///< quantized elements: [blocks, vectors, kGroup, kQuad]
  // A scale is a float, or a 16-bit multiple of a step per column: scales are read as often as the
  // elements, and 4 bytes for each 16 of these count.
  const float* scales = nullptr;        ///< [blocks, kGroup]; null: `multiples` are used
  const uint16_t* multiples = nullptr;  ///< [blocks, kGroup]; null: `scales` are used
  const float* steps = nullptr;         ///< [kGroup], of the multiples
  // Zero points. If both are null, they are half of the range (8 or 128).
  const uint8_t* zero_bytes = nullptr;  ///< [blocks, kGroup]
  const float* zero_floats = nullptr;   ///< [blocks, kGroup]
};

/// Rows of the left-hand matrix, quantized to s8 and interleaved by quads, or in f32.
struct RowTile {
  int rows = 0;
  int8_t* numbers = nullptr;       ///< [padded / kQuad, rows, kQuad], from -127 to 127
  float* scales = nullptr;         ///< [blocks, rows]
  int32_t* corrections = nullptr;  ///< [blocks, rows]: -(sum of the block's elements) * `middle`
  /// [padded, rows], if the rows stay f32; `scales` are then minus the sums of the blocks
  float* floats = nullptr;
};

/// Where the product of a tile and a group is stored.
struct Target {
  float* data = nullptr;        ///< first row of the tile, first column of the group
  int64_t stride = 0;           ///< from row to row, in elements
  int columns = 0;              ///< of the group inside the result, 1 to kGroup
  const float* bias = nullptr;  ///< [columns]; null: none
};

/// The functions of one instruction set. [any]
struct BlockCode {
  const char* name;
  int most_rows;        ///< of a tile
  int most_float_rows;  ///< of a tile whose rows stay in f32; 0: no code for these
  /// Quantizes `shape.inner` floats into row `row` of a tile. `middle`: the zero point of a matrix
  /// without zero points of its own, else 1. A block with an element that is not finite gets the
  /// scale NaN.
  void (*quantize)(const float* source, const BlockShape& shape, int middle, const RowTile& tile,
                   int row);
  void (*multiply)(const RowTile& tile, const ColumnGroup& group, const BlockShape& shape,
                   const Target& target);
  /// The same for rows in f32 (RowTile::floats); null: this instruction set has no code for it.
  void (*multiply_floats)(const RowTile& tile, const ColumnGroup& group, const BlockShape& shape,
                          const Target& target);
};

/// The code for the best instruction set of the CPU that ONEDNN_MAX_CPU_ISA allows. [any]
const BlockCode& block_code();

extern const BlockCode kPlainCode;
extern const BlockCode kAvx2Code;
extern const BlockCode kAvx512Code;  ///< AVX-512 with VNNI

/// The scale of a block: NaN if it is not finite, 0 if it is tiny. `magnitude`: bits of its largest
/// absolute value; `inverse`: receives the reciprocal of the scale, 0 for NaN and 0.
float scale_of_largest(uint32_t magnitude, float& inverse);

}  // namespace gantry::x86
