// SPDX-License-Identifier: Apache-2.0
// Skinny GEMM with a right operand [k, n]: LANES threads read VECTOR columns each, 16 bytes, and
// groups of LANES threads take VECTOR rows of the matrix in turn. With `splits` > 1,
// skinny_gemm_split_reduction.cu adds the partial results. T of the tensors, C computed with
// (float), ROWS, VECTOR, LANES: given. Both functions work on block `block` of the matmul.
#define WARPS (MOST_THREADS / 32)
#define COLUMNS (LANES * VECTOR)

inline void prefetch_skinny_gemm(const MatmulParameters& p, u32 block) {
  const i64 column = block % p.tiles_n * COLUMNS;
  const i64 parts = p.k / VECTOR;
  const i64 first = block / p.tiles_n * ((parts + p.splits - 1) / p.splits) * VECTOR;
  for (int i = (int)threadIdx.x * 32; i < p.prefetch_bytes; i += (int)blockDim.x * 32) {
    const i64 row = first + i / (LANES * 16);
    const i64 at = column + i % (LANES * 16) / (int)sizeof(T);
    if (row < p.k && at < p.n) prefetch((const T*)p.b + row * p.n + at);
  }
}

inline void multiply_skinny(const MatmulParameters& p, u32 block) {
  typedef Pack<T, VECTOR> Part;
  __shared__ C scratch[WARPS][ROWS][COLUMNS];
  const int groups = (int)blockDim.x / LANES;
  const int group = (int)threadIdx.x / LANES;
  const i64 tile = block % p.tiles_n;
  const i64 split = block / p.tiles_n;
  const i64 column = tile * COLUMNS + threadIdx.x % LANES * VECTOR;
  const i64 parts = p.k / VECTOR;
  const i64 each = (parts + p.splits - 1) / p.splits;
  const i64 end = (split + 1) * each < parts ? (split + 1) * each : parts;
  C sums[ROWS][VECTOR];
#pragma unroll
  for (int r = 0; r < ROWS; ++r)
    for (int c = 0; c < VECTOR; ++c) sums[r][c] = 0;
  for (i64 i = split * each + group; i < end && column < p.n; i += groups) {
    Part matrix[VECTOR];
#pragma unroll
    for (int j = 0; j < VECTOR; ++j)
      matrix[j] = *(const Part*)((const T*)p.b + (i * VECTOR + j) * p.n + column);
    Part x[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) x[r] = ((const Part*)((const T*)p.a + r * p.k))[i];
#pragma unroll
    for (int j = 0; j < VECTOR; ++j) {
      C weights[VECTOR];
#pragma unroll
      for (int c = 0; c < VECTOR; ++c) weights[c] = (C)load(matrix[j].at[c]);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const C factor = (C)load(x[r].at[j]);
#pragma unroll
        for (int c = 0; c < VECTOR; ++c) sums[r][c] += factor * weights[c];
      }
    }
  }
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int c = 0; c < VECTOR; ++c) {
      C sum = sums[r][c];
      for (int step = 16; step >= LANES; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
      if (lane < LANES) scratch[threadIdx.x / 32][r][lane * VECTOR + c] = sum;
    }
  }
  __syncthreads();
  for (int e = threadIdx.x; e < ROWS * COLUMNS; e += blockDim.x) {
    const int r = e / COLUMNS;
    const i64 n = tile * COLUMNS + e % COLUMNS;
    if (n >= p.n) continue;
    C sum = 0;
    for (int w = 0; w < (int)blockDim.x / 32; ++w) sum += scratch[w][r][e % COLUMNS];
    if (p.splits > 1) {
      ((C*)p.partial)[(split * ROWS + r) * p.n + n] = sum;
    } else {
      write_element(p, 0, r, n, sum);
    }
  }
}
