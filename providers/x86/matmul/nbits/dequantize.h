// SPDX-License-Identifier: Apache-2.0
// The floats that a block-quantized matrix stands for. Pure functions, from any thread.
#pragma once

#include <cstdint>

#include "matmul/nbits/code.h"

namespace gantry::x86 {

/// panel[k - begin * block][column] = (number - zero point) * scale, for the elements k of blocks
/// [begin, end) of a group's kGroup columns. `width`: floats from row to row of the panel.
void dequantize(const ColumnGroup& group, const BlockShape& shape, int64_t begin, int64_t end,
                int64_t width, float* panel);

}  // namespace gantry::x86
