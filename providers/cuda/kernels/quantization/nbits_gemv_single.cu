// SPDX-License-Identifier: Apache-2.0
// One matmul (nbits_gemv.cu).
PREFETCHING_KERNEL(NBitsMatmulParameters, prefetch_blocks(p, blockIdx.x)) {
  multiply_blocks(p, blockIdx.x);
}
