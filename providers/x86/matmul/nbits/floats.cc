// SPDX-License-Identifier: Apache-2.0
#include "matmul/nbits/floats.h"

namespace gantry::x86 {

void interleave_floats(const float* source, const BlockShape& shape, int, const RowTile& tile,
                       int row) {
  for (int64_t block = 0; block < shape.blocks(); ++block) {
    float sum = 0;
    for (int64_t i = block * shape.block; i < (block + 1) * shape.block; ++i) {
      const float number = i < shape.inner ? source[i] : 0;
      tile.floats[i * tile.rows + row] = number;
      sum += number;
    }
    tile.scales[block * tile.rows + row] = -sum;
  }
}

}  // namespace gantry::x86
