// SPDX-License-Identifier: Apache-2.0
// Elements moved from where they lie dense along one axis to where they do along another, through
// tiles in shared memory, so that both sides are met in whole lines. A block for each tile. Word,
// TILE, PAD (which parts columns of a tile by banks), RANK of the axes around: given.
KERNEL(TilesParameters) {
  __shared__ Word room[TILE][TILE + PAD];
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
      room[y][x] = source[(column + y) * p.source_step + row + x];
  }
  __syncthreads();
#pragma unroll 8
  for (int y = first; y < TILE; y += step) {
    if (row + y < p.rows && column + x < p.columns)
      target[(row + y) * p.target_step + column + x] = room[x][y];
  }
}
