// SPDX-License-Identifier: Apache-2.0
// One skinny GEMM (skinny_gemm.cu).
PREFETCHING_KERNEL(MatmulParameters, prefetch_skinny_gemm(p, blockIdx.x)) {
  multiply_skinny(p, blockIdx.x);
}
