// SPDX-License-Identifier: Apache-2.0
// One matmul (matmul_tiles.cu).
PREFETCHING_KERNEL(MatmulParameters, prefetch_tiles(p, blockIdx.x)) {
  multiply_tiles(p, blockIdx.x);
}
