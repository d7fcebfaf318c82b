// SPDX-License-Identifier: Apache-2.0
// A transpose through tiles in shared memory, so that loads and stores are coalesced. One block per
// tile. Word, TILE, PAD (padding of a tile's rows against bank conflicts), RANK of the batch axes:
// given.
KERNEL(TilesParameters) {
  __shared__ Word scratch[TILE][TILE + PAD];
  const u32 tile = blockIdx.x % p.tiles;
  const u32 around = blockIdx.x / p.tiles;
  const Word* source = (const Word*)p.source + offset_of<RANK>(around, p.extents, p.source_strides);
  Word* target = (Word*)p.target + offset_of<RANK>(around, p.extents, p.target_strides);
  const i64 row = (i64)(tile / p.tiles_across) * TILE;
  const i64 column = (i64)(tile % p.tiles_across) * TILE;
  const int x = threadIdx.x % TILE;
  const int first = threadIdx.x / TILE;
  const int step = blockDim.x / TILE;
#pragma unroll 8
  for (int y = first; y < TILE; y += step) {
    if (row + x < p.rows && column + y < p.columns)
      scratch[y][x] = source[(column + y) * p.source_step + row + x];
  }
  __syncthreads();
#pragma unroll 8
  for (int y = first; y < TILE; y += step) {
    if (row + y < p.rows && column + x < p.columns)
      target[(row + y) * p.target_step + column + x] = scratch[x][y];
  }
}
