// SPDX-License-Identifier: Apache-2.0
// AVX2 code that the AVX-512 code uses too.
#pragma once

#include "matmul/nbits/code.h"

namespace gantry::x86 {

/// BlockCode::quantize. Requires AVX2.
void quantize_avx2(const float* source, const BlockShape& shape, int middle, const RowTile& tile,
                   int row);

}  // namespace gantry::x86
