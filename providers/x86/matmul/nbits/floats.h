// SPDX-License-Identifier: Apache-2.0
// Block-quantized matmul of f32 rows that are not quantized.
#pragma once

#include "matmul/nbits/code.h"

namespace gantry::x86 {

/// As BlockCode::quantize, but copies the row into RowTile::floats.
void interleave_floats(const float* source, const BlockShape& shape, int middle,
                       const RowTile& tile, int row);

/// BlockCode::multiply_floats, of up to so many rows. Requires AVX2.
void multiply_floats_avx2(const RowTile& tile, const ColumnGroup& group, const BlockShape& shape,
                          const Target& target);
constexpr int kMostFloatRowsAvx2 = 8;

/// BlockCode::multiply_floats. Requires AVX-512.
void multiply_floats_avx512(const RowTile& tile, const ColumnGroup& group, const BlockShape& shape,
                            const Target& target);

}  // namespace gantry::x86
