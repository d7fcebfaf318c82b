// SPDX-License-Identifier: Apache-2.0
// What the code for AVX-512 has from that for AVX2.
#pragma once

#include "matmul/nbits/code.h"

namespace gantry::x86 {

/// BlockCode::quantize. Requires AVX2.
void quantize_avx2(const float* source, const BlockShape& shape, int middle, const RowTile& tile,
                   int row);

}  // namespace gantry::x86
