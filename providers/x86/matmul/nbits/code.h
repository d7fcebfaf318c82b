// SPDX-License-Identifier: Apache-2.0
// Products of rows of floats with a matrix of 4 or 8 bits in blocks along the inner extent. The
// rows are brought to signed int8 values, with a scale for each block, when they arrive; the
// sums of a block are integers. Written once for each instruction set; which one is used follows
// from the CPU, or from ONEDNN_MAX_CPU_ISA, as with the library's own kernels.
#pragma once

#include <cstdint>

namespace gantry::x86 {

/// Columns of the matrix that stand together: one for each of 16 lanes of 32 bits.
constexpr int kGroup = 16;
/// Numbers of one column that stand together: what a lane multiplies at once.
constexpr int kQuad = 4;

struct BlockShape {
  int64_t inner = 0;    ///< extent that is summed over
  int64_t columns = 0;  ///< of the result
  int64_t block = 0;    ///< numbers of one column that share a scale; 16, 32, 64 or 128
  int bits = 4;         ///< of a number: 4 or 8

  [[nodiscard]] int64_t blocks() const { return (inner + block - 1) / block; }
  [[nodiscard]] int64_t padded() const { return blocks() * block; }
  /// Vectors of kGroup * kQuad bytes in a block; of 4 bits, the low halves are one quad of each
  /// column and the high halves the next.
  [[nodiscard]] int64_t vectors() const { return block * bits / (8 * kQuad); }
};

/// kGroup columns.
struct ColumnGroup {
  const uint8_t* numbers = nullptr;  ///< [blocks, vectors, kGroup, kQuad]
  /// Scales are floats, [blocks, kGroup], or multiples of a step that each column has: they are
  /// read as often as the numbers, and are 4 bytes for each 16 of these.
  const float* scales = nullptr;
  const uint16_t* multiples = nullptr;  ///< [blocks, kGroup], null: they are floats
  const float* steps = nullptr;         ///< [kGroup] of multiples
  const uint8_t* zero_bytes = nullptr;  ///< [blocks, kGroup]; null: none of bytes
  const float* zero_floats = nullptr;   ///< [blocks, kGroup]; null: none of floats
};

/// Rows of the left-hand matrix in int8: `rows` of them, next to each other by quads.
struct RowTile {
  int rows = 0;
  int8_t* numbers = nullptr;       ///< [padded / kQuad, rows, kQuad], from -127 to 127
  float* scales = nullptr;         ///< [blocks, rows]
  int32_t* corrections = nullptr;  ///< [blocks, rows]: minus the sum of the numbers, times `middle`
  /// Of rows that stay in floats: [padded, rows]; `scales` are then minus the sums of the blocks.
  float* floats = nullptr;
};

/// Where the product of a tile with a group goes.
struct Target {
  float* data = nullptr;        ///< of the tile's first row and the group's first column
  int64_t stride = 0;           ///< from row to row, in elements
  int columns = 0;              ///< of the group that exist, 1 to kGroup
  const float* bias = nullptr;  ///< added to each of `columns`; null: nothing
};

/// The functions of one instruction set. [any]
struct BlockCode {
  const char* name;
  int most_rows;        ///< of a tile
  int most_float_rows;  ///< of a tile whose rows stay in floats; 0: no code for these
  /// Brings one row of `shape.inner` floats into row `row` of a tile. `middle`: zero point of a
  /// matrix that has none of its own, 1 if it has. A block with a number that is not finite gets
  /// the scale NaN.
  void (*quantize)(const float* source, const BlockShape& shape, int middle, const RowTile& tile,
                   int row);
  void (*multiply)(const RowTile& tile, const ColumnGroup& group, const BlockShape& shape,
                   const Target& target);
  /// As multiply, of rows in floats; null: there is none.
  void (*multiply_floats)(const RowTile& tile, const ColumnGroup& group, const BlockShape& shape,
                          const Target& target);
};

/// The best that this CPU has and the environment allows. [any]
const BlockCode& block_code();

extern const BlockCode kPlainCode;
extern const BlockCode kAvx2Code;
extern const BlockCode kAvx512Code;  ///< AVX-512 with VNNI

/// Scale of a block whose largest magnitude has these bits; `inverse`: what its numbers are
/// multiplied by.
float scale_of_largest(uint32_t magnitude, float& inverse);

}  // namespace gantry::x86
