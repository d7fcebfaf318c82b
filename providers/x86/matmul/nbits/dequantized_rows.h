// SPDX-License-Identifier: Apache-2.0
// Many f32 rows times a block-quantized matrix: each panel of the matrix is dequantized once for a
// block of rows. With few rows dequantizing would dominate; BlockCode::multiply_floats serves them.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>

#include "matmul/nbits/weights.h"

namespace gantry::x86 {

/// True if so many rows are faster than by tiles of BlockCode::multiply_floats, and the CPU has the
/// code. [any]
bool takes_dequantized(int64_t rows);

/// target = source times the transpose of the matrix + bias. `source`: [rows, inner]; `bias`:
/// [columns of whole panels (matmul/packed/code.h)], null: none; `target`: [rows, columns].
/// Requires takes_dequantized(rows).
void multiply_dequantized(sdk::Call& call, const BlockWeights& matrix, int64_t rows,
                          const float* source, const float* bias, float* target);

}  // namespace gantry::x86
