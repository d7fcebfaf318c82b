// SPDX-License-Identifier: Apache-2.0
// One product with a matrix in blocks (block_rows.cu).
KERNEL(BlockProductParameters) { multiply_blocks(p, blockIdx.x); }
