// SPDX-License-Identifier: Apache-2.0
// Rows of floats in the tiles that products with blocks read (matmul/nbits/code.h), and these
// products. The rows may belong to several matrices of one shape: those of one stand together.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <span>

#include "matmul/nbits/code.h"
#include "matmul/nbits/weights.h"

namespace gantry::x86 {

class TiledRows {
 public:
  /// `counts[m]`: rows of matrix m, which follow those of matrix m - 1. `shape`: of each matrix.
  /// `in_floats`: the rows are not rounded to int8; requires BlockCode::multiply_floats. Takes
  /// scratch memory of the call: how much follows from the sum and the number of the counts.
  /// `shape` must outlive the object.
  TiledRows(sdk::Call& call, const BlockShape& shape, bool in_floats,
            std::span<const int64_t> counts);

  /// Brings all rows into the tiles. `order[i]`: which row of `source`, [.., inner], is row i;
  /// null: the i-th.
  void fill(sdk::Call& call, std::span<const BlockWeights> matrices, const float* source,
            const int64_t* order) const;
  /// target[i] = row i times the transpose of its matrix, [rows, columns]. `bias`: added,
  /// [matrices, columns]; null: none.
  void multiply(sdk::Call& call, std::span<const BlockWeights> matrices, const float* bias,
                float* target) const;

 private:
  struct Tile {
    int64_t first_row;
    int64_t matrix;
    int rows;
  };
  [[nodiscard]] RowTile row_tile(const Tile& tile) const;
  [[nodiscard]] int64_t first_row(int64_t tile) const {
    return tile < tile_count_ ? tiles_[tile].first_row : rows_;
  }
  int64_t make_ranges() const;
  void multiply_tile(const Tile& tile, const BlockWeights& matrix, int64_t group, const float* bias,
                     float* target) const;

  const BlockCode& code_;
  const BlockShape& shape_;
  int64_t rows_ = 0;
  int64_t tile_count_ = 0;
  Tile* tiles_ = nullptr;
  int64_t* starts_ = nullptr;  // memory of make_ranges()
  int8_t* numbers_ = nullptr;
  float* floats_ = nullptr;
  float* scales_ = nullptr;
  int32_t* corrections_ = nullptr;
};

}  // namespace gantry::x86
