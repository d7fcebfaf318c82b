// SPDX-License-Identifier: Apache-2.0
// Matmul of f32 rows with a packed constant matrix that is prefetched while it is multiplied:
// skinny GEMMs are bound by reading the matrix. Needs AVX-512, or AVX2 with FMA and F16C; other
// CPUs leave it to oneDNN. Pure functions, from any thread.
#pragma once

#include <cstdint>

#include "matmul/packed/storage_dtype.h"

namespace gantry::x86 {

/// Columns of a panel of the packed matrix, [panels, inner, kPanelColumns]. The last panel is half
/// as wide if that is enough.
constexpr int64_t kPanelColumns = 32;

/// Computes a tile of the result, [rows, columns]: left * panel + initial + bias, then bounded.
struct MatMulTile {
  int rows = 0;                 ///< 1 to MatMulCode::most_rows
  const float* left = nullptr;  ///< [rows, inner], rows `left_stride` apart
  int64_t left_stride = 0;
  const void* panel = nullptr;                ///< [inner, panel_width()]
  StorageDtype dtype = StorageDtype::kFloat;  ///< of the panel
  /// Receives the f32 elements of a 16-bit panel, for the next tiles; null: they are not needed.
  float* widened = nullptr;
  int64_t inner = 0;
  int64_t columns = 0;             ///< 1 to kPanelColumns
  const float* initial = nullptr;  ///< of the target's layout, which it may be; null: zeros
  const float* bias = nullptr;     ///< [columns of the panel]; null: zeros
  float* target = nullptr;
  int64_t stride = 0;  ///< of the target, from row to row
  /// Clips the results to [low, high]; NaN stays NaN.
  bool is_bounded = false;
  float low = 0;
  float high = 0;
  /// Memory to prefetch; null: none. `lines_ahead` consecutive cache lines are prefetched at every
  /// `steps_ahead`th index of `inner`. Two lines need an f32 panel and steps_ahead 1.
  const char* ahead = nullptr;
  int lines_ahead = 1;  ///< 1 or 2
  int steps_ahead = 1;
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

/// The code for the best instruction set of the CPU that ONEDNN_MAX_CPU_ISA allows; null: none.
/// [any]
const MatMulCode* matmul_code();

extern const MatMulCode kMatMulAvx2;
extern const MatMulCode kMatMulAvx512;

}  // namespace gantry::x86
