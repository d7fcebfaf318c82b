// SPDX-License-Identifier: Apache-2.0
// A part of a panel, multiplied with one tile of rows after another while what comes next of the
// matrix is brought in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "matmul/packed/code.h"
#include "matmul/packed/tile_epilogue.h"

namespace gantry::x86 {

/// One thread at a time.
class PanelPass {
 public:
  struct Part {
    const std::byte* numbers = nullptr;
    StorageDtype kind = StorageDtype::kFloat;
    int64_t inner = 0;
    int64_t width = 0;                ///< of the panel: kPanelColumns or half of it
    int64_t columns = 0;              ///< that are there, 1 to `width`
    const std::byte* next = nullptr;  ///< multiplied after it; null: nothing that is known
  };
  struct Tiles {
    int64_t left_stride = 0;    ///< from row to row of what is multiplied
    int64_t target_stride = 0;  ///< of the results
    int64_t count = 0;          ///< of tiles that will be multiplied
  };

  PanelPass(const Part& part, const Tiles& tiles);

  /// [columns], added to each row.
  void add_bias(const float* bias) { tile_.bias = bias; }
  void keep(const TileEpilogue::Bounds& bounds);
  /// The next tile: `initial` (null: zeros) + left * part, as MatMulTile has them.
  void multiply(int64_t rows, const float* left, const float* initial, float* target);

 private:
  MatMulTile tile_;
  const std::byte* next_;
  int64_t lines_;      ///< of the cache, for each index of the inner extent
  int64_t lines_end_;  ///< bytes of what is next
  int64_t share_ = 0;  ///< bytes of it that each tile brings in
  int64_t brought_ = 0;
  bool is_alone_;
};

}  // namespace gantry::x86
