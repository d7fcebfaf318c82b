// SPDX-License-Identifier: Apache-2.0
// Matmul for all types: a block computes a tile of 64 x 64, a thread 4 x 4 of it, from strips of 16
// in shared memory. T of the tensors, C computed with; BATCH_RANK: given.
#define TILE 64
#define STRIP 16

KERNEL(MatmulParameters) {
  __shared__ C left[STRIP][TILE + 1];
  __shared__ C right[STRIP][TILE + 1];
  const u32 tiles = p.tiles_m * p.tiles_n;
  const u32 batch = blockIdx.x / tiles;
  const i64 row = (i64)(blockIdx.x % tiles / p.tiles_n) * TILE;
  const i64 column = (i64)(blockIdx.x % tiles % p.tiles_n) * TILE;
  const i64 a_first = offset_of<BATCH_RANK>(batch, p.batch_extents, p.a_batch);
  const i64 b_first = offset_of<BATCH_RANK>(batch, p.batch_extents, p.b_batch);
  const int y = threadIdx.x / 16;
  const int x = threadIdx.x % 16;
  C sums[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) sums[i][j] = 0;
  for (i64 k = 0; k < p.k; k += STRIP) {
    __syncthreads();
    for (int e = threadIdx.x; e < TILE * STRIP; e += 256) {
      // Adjacent threads read adjacent elements.
      const int ak = p.a_column == 1 ? e % STRIP : e / TILE;
      const int am = p.a_column == 1 ? e / STRIP : e % TILE;
      left[ak][am] =
          row + am < p.m && k + ak < p.k
              ? (C)load(((const T*)p.a)[a_first + (row + am) * p.a_row + (k + ak) * p.a_column])
              : (C)0;
      const int bk = p.b_row == 1 ? e % STRIP : e / TILE;
      const int bn = p.b_row == 1 ? e / STRIP : e % TILE;
      right[bk][bn] =
          column + bn < p.n && k + bk < p.k
              ? (C)load(((const T*)p.b)[b_first + (k + bk) * p.b_row + (column + bn) * p.b_column])
              : (C)0;
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < STRIP; ++s) {
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] += left[s][y + 16 * i] * right[s][x + 16 * j];
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const i64 m = row + y + 16 * i;
      const i64 n = column + x + 16 * j;
      if (m >= p.m || n >= p.n) continue;
      write_element(p, batch, m, n, sums[i][j]);
    }
  }
}
