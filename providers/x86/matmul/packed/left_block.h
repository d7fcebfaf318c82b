// SPDX-License-Identifier: Apache-2.0
// Rows of the left-hand matrix, copied if their stride makes them evict each other from the L1
// cache. Pure functions, from any thread.
#pragma once

#include <cstdint>

namespace gantry::x86 {

/// Rows of floats, `stride` apart.
struct LeftBlock {
  const float* data = nullptr;
  int64_t stride = 0;
};

/// [rows, inner] of `source` for tiles of `rows_of_tile` rows: in place, or as a copy if lines of
/// the rows of a tile would fall into the same few sets of the L1 cache and push each other out, as
/// with strides of 4 KiB. The copy is memory of the calling thread, valid until its next call.
LeftBlock left_block(const LeftBlock& source, int64_t rows, int64_t inner, int64_t rows_of_tile);

}  // namespace gantry::x86
