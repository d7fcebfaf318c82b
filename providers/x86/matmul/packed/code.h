// SPDX-License-Identifier: Apache-2.0
// Products of rows of floats with a constant matrix, whose numbers are brought in while the ones
// before them are multiplied: what skinny GEMMs wait for is the matrix. With AVX-512, or AVX2 with
// FMA and F16C; other CPUs leave them to the library. Pure functions, from any thread.
#pragma once

#include <cstdint>

#include "matmul/packed/storage_dtype.h"

namespace gantry::x86 {

/// Columns of a panel, in which the matrix stands: [panels, inner, kPanelColumns]; the last panel
/// is half as wide if that is enough.
constexpr int64_t kPanelColumns = 32;

/// A tile of the result, [rows, columns] of a matrix whose rows are `stride` apart: rows * panel +
/// initial + bias, and perhaps bounded.
struct MatMulTile {
  int rows = 0;                 ///< 1 to MatMulCode::most_rows
  const float* left = nullptr;  ///< [rows, inner], rows `left_stride` apart
  int64_t left_stride = 0;
  const void* panel = nullptr;
  StorageDtype numbers = StorageDtype::kFloat;  ///< of the panel
  /// Of a panel in 16 bits: gets its numbers as floats, for the tiles that come next; null: nobody
  /// needs them.
  float* widened = nullptr;
  int64_t inner = 0;
  int64_t columns = 0;             ///< 1 to kPanelColumns
  const float* initial = nullptr;  ///< laid as the target, which it may be; null: zeros
  const float* bias = nullptr;     ///< [columns of the panel]; null: zeros
  float* target = nullptr;
  int64_t stride = 0;
  /// Of the results, as a Relu or Clip has them; what is not a number stays so.
  bool is_bounded = false;
  float low = 0;
  float high = 0;
  /// Where the numbers stand that come next: one line of the cache is brought in for each
  /// `steps_ahead` indices of `inner`, or two for each, the second behind the first, if the panel
  /// is of floats. Null: none is.
  const char* ahead = nullptr;
  int lines_ahead = 1;
  int steps_ahead = 1;  ///< 1 where there are two lines
};

/// Width of the panel whose first column is `column`, of `columns` in all.
constexpr int64_t panel_width(int64_t columns, int64_t column) {
  return columns - column <= kPanelColumns / 2 ? kPanelColumns / 2 : kPanelColumns;
}

/// The functions of one instruction set. [any]
struct MatMulCode {
  int64_t most_rows;  ///< of a tile
  void (*multiply_tile)(const MatMulTile& tile);
};

/// The best that the CPU has and ONEDNN_MAX_CPU_ISA allows; null: there is none. [any]
const MatMulCode* matmul_code();

extern const MatMulCode kMatMulAvx2;
extern const MatMulCode kMatMulAvx512;

}  // namespace gantry::x86
