// SPDX-License-Identifier: Apache-2.0
// Skinny GEMM with a right operand [n, k]: a warp computes COLUMNS columns, and its lanes take 16
// bytes of each in turn. T of the tensors, C computed with (float), ROWS, VECTOR, COLUMNS: given.
inline void prefetch_columns(const MatmulParameters& p) {
  const i64 first = (blockIdx.x * (i64)(blockDim.x / 32) + threadIdx.x / 32) * COLUMNS;
  const int each = p.prefetch_bytes / ((int)blockDim.x / 32 * COLUMNS);
#pragma unroll
  for (int c = 0; c < COLUMNS; ++c) {
    for (int i = (int)threadIdx.x % 32 * 32; i < each && first + c < p.n; i += 32 * 32)
      prefetch((const char*)((const T*)p.b + (first + c) * p.k) + i);
  }
}

PREFETCHING_KERNEL(MatmulParameters, prefetch_columns(p)) {
  typedef Pack<T, VECTOR> Part;
  const int lane = threadIdx.x % 32;
  const i64 first = (blockIdx.x * (i64)(blockDim.x / 32) + threadIdx.x / 32) * COLUMNS;
  const i64 parts = first < p.n ? p.k / VECTOR : 0;
  const Part* matrix[COLUMNS];
#pragma unroll
  for (int c = 0; c < COLUMNS; ++c)  // a column out of range reads the last one
    matrix[c] = (const Part*)((const T*)p.b + (first + c < p.n ? first + c : p.n - 1) * p.k);
  C sums[ROWS][COLUMNS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r)
    for (int c = 0; c < COLUMNS; ++c) sums[r][c] = 0;
#pragma unroll 4
  for (i64 i = lane; i < parts; i += 32) {
    Part weights[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) weights[c] = matrix[c][i];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const Part x = ((const Part*)((const T*)p.a + r * p.k))[i];
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c) {
#pragma unroll
        for (int j = 0; j < VECTOR; ++j) sums[r][c] += (C)load(x.at[j]) * (C)load(weights[c].at[j]);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
      C sum = sums[r][c];
      for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
      if (lane == 0 && first + c < p.n) write_element(p, 0, r, first + c, sum);
    }
  }
}
