// SPDX-License-Identifier: Apache-2.0
// Addresses of the left-hand rows of a tile, which are read in place.
#pragma once

#include <cstdint>

#include "matmul/packed/code.h"

namespace gantry::x86 {

/// One inner index of all rows. Every fourth row has a pointer; the compiler derives the next three
/// from it with the stride.
template <int kRows>
class LeftRows {
 public:
  [[gnu::always_inline]] explicit LeftRows(const MatMulTile& tile) : stride_(tile.left_stride) {
    for (int q = 0; q < kQuads; ++q) quads_[q] = tile.left + 4 * q * stride_;
  }

  [[nodiscard, gnu::always_inline]] const float* at(int row) const {
    return quads_[row / 4] + row % 4 * stride_;
  }
  [[gnu::always_inline]] void advance() {
    for (const float*& quad : quads_) ++quad;
  }

 private:
  static constexpr int kQuads = (kRows + 3) / 4;
  const float* quads_[kQuads];
  int64_t stride_;
};

}  // namespace gantry::x86
