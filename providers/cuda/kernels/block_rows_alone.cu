// SPDX-License-Identifier: Apache-2.0
// One product with a matrix in blocks (block_rows.cu).
FORESEEING_KERNEL(BlockProductParameters, foresee_blocks(p, blockIdx.x)) { multiply_blocks(p, blockIdx.x); }
