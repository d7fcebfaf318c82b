// SPDX-License-Identifier: Apache-2.0
// Split-K reduction of matmul_tiles.cu, eight elements per thread.
KERNEL(MatmulParameters) {
  const i64 parts = p.n / 8;
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.m * parts; i += step) {
    const i64 row = i / parts;
    const i64 column = (i - row * parts) * 8;
    alignas(16) float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int s = 0; s < p.splits; ++s) {
      const Pack<float, 4>* const from =
          (const Pack<float, 4>*)((const float*)p.partial + (s * p.m + row) * p.n + column);
      const Pack<float, 4> low = from[0], high = from[1];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        sums[j] += low.at[j];
        sums[4 + j] += high.at[j];
      }
    }
    write_vector(p, 0, row, column, sums);
  }
}
