// SPDX-License-Identifier: Apache-2.0
// Multiplies tiles of rows by a part of a panel, and prefetches the part that follows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "matmul/packed/code.h"
#include "matmul/packed/tile_epilogue.h"

namespace gantry::x86 {

/// Memory of the calling thread for a panel of so many floats, aligned to a cache line. Valid until
/// the thread's next call.
float* panel_room(int64_t count);

/// One thread at a time.
class PanelPass {
 public:
  struct Part {
    const std::byte* weights = nullptr;
    StorageDtype dtype = StorageDtype::kFloat;
    int64_t inner = 0;
    int64_t width = 0;                ///< of the panel: kPanelColumns or half of it
    int64_t columns = 0;              ///< inside the result, 1 to `width`
    const std::byte* next = nullptr;  ///< the part to prefetch; null: none
  };
  struct Tiles {
    int64_t left_stride = 0;    ///< from row to row of the left-hand matrix
    int64_t target_stride = 0;  ///< from row to row of the target
    int64_t count = 0;          ///< of calls of multiply(), over which the prefetch is spread
  };

  PanelPass(const Part& part, const Tiles& tiles);

  /// Adds `bias`, [columns of the panel], to each row of the next tiles.
  void add_bias(const float* bias) { tile_.bias = bias; }
  /// Clips the results of the next tiles.
  void keep(const TileEpilogue::Bounds& bounds);
  /// Computes a tile: `initial` (null: zeros) + left * part, as in MatMulTile.
  void multiply(int64_t rows, const float* left, const float* initial, float* target);

 private:
  MatMulTile tile_;
  const std::byte* next_;
  int64_t lines_;      ///< cache lines for each index of the inner extent
  int64_t lines_end_;  ///< bytes of the next part
  int64_t share_ = 0;  ///< bytes of it that each tile prefetches
  int64_t brought_ = 0;
  bool is_alone_;
};

}  // namespace gantry::x86
