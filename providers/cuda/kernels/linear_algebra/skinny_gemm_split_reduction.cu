// SPDX-License-Identifier: Apache-2.0
// Split-K reduction of skinny_gemm.cu. C: given.
KERNEL(MatmulParameters) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.m * p.n; i += step) {
    C sum = 0;
    for (int s = 0; s < p.splits; ++s) sum += ((const C*)p.partial)[s * p.m * p.n + i];
    write_element(p, 0, i / p.n, i % p.n, sum);
  }
}
