// SPDX-License-Identifier: Apache-2.0
// Products of 16-bit floats by tensor cores (tensor_cores.cu): a block makes a tile of TILE_M x TILE_N
// sums from strips of TILE_K, of which STAGES lie in shared memory, all but one on their way. Its
// warps, WARPS_M by WARPS_N of them, make as large a part each. B_ALONG: whether the right factor
// lies along the inner axis, else by its rows. Rows of both are whole chunks of 8. T of the tensors,
// BATCH_RANK: given.
#define THREADS (WARPS_M * WARPS_N * 32)
#define FRAGMENTS_M (TILE_M / WARPS_M / 16)
#define FRAGMENTS_N (TILE_N / WARPS_N / 16)
#define A_CHUNKS (TILE_K / 8)  // of a row
#define B_ROWS (B_ALONG ? TILE_N : TILE_K)
#define B_CHUNKS (B_ALONG ? TILE_K / 8 : TILE_N / 8)
#define A_STRIP (TILE_M * A_CHUNKS)
#define B_STRIP (B_ROWS * B_CHUNKS)
#define PART_N (TILE_N / WARPS_N)  // columns of a warp
#define PART_ROW (PART_N + 4)      // of a warp's sums, kept apart in the banks

// Where the block's tile is, and of what.
struct TilePlace {
  i64 row, column;
  const T* a;
  const T* b;
  i64 first, last;  // strips
};

inline void fetch_strip(const ProductParameters& p, const TilePlace& place, Chunk* room, i64 strip) {
  const i64 k = strip * TILE_K;
#pragma unroll
  for (int i = (int)threadIdx.x; i < A_STRIP; i += THREADS) {
    const int row = i / A_CHUNKS, chunk = i % A_CHUNKS;
    const bool is_there = place.row + row < p.m && k + chunk * 8 < p.k;
    fetch(room + chunk_place<A_CHUNKS>(row, chunk), is_there ? place.a + (place.row + row) * p.a_row + k + chunk * 8 : place.a,
          is_there);
  }
#pragma unroll
  for (int i = (int)threadIdx.x; i < B_STRIP; i += THREADS) {
    const int row = i / B_CHUNKS, chunk = i % B_CHUNKS;
    const i64 column = place.column + (B_ALONG ? row : chunk * 8);
    const i64 inner = k + (B_ALONG ? chunk * 8 : row);
    const bool is_there = column < p.n && inner < p.k;
    fetch(room + A_STRIP + chunk_place<B_CHUNKS>(row, chunk),
          is_there ? place.b + inner * p.b_row + column * p.b_column : place.b, is_there);
  }
}

inline void multiply_strip(float (*sums)[FRAGMENTS_N * 2][4], const Chunk* room) {
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  const int row = warp / WARPS_N * (TILE_M / WARPS_M);
  const int column = warp % WARPS_N * PART_N;
#pragma unroll
  for (int step = 0; step < TILE_K / 16; ++step) {
    u32 a[FRAGMENTS_M][4], b[FRAGMENTS_N][4];
#pragma unroll
    for (int i = 0; i < FRAGMENTS_M; ++i)
      load_matrices<false>(a[i], room + chunk_place<A_CHUNKS>(row + 16 * i + lane % 16, step * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < FRAGMENTS_N; ++j) {
      if (B_ALONG) {
        load_matrices<false>(b[j], room + A_STRIP + chunk_place<B_CHUNKS>(column + 16 * j + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2));
      } else {
        load_matrices<true>(b[j], room + A_STRIP + chunk_place<B_CHUNKS>(step * 16 + lane % 16, column / 8 + 2 * j + lane / 16));
      }
    }
#pragma unroll
    for (int i = 0; i < FRAGMENTS_M; ++i) {
#pragma unroll
      for (int j = 0; j < FRAGMENTS_N; ++j) {
        multiply_add(sums[i][2 * j], a[i], b[j]);
        multiply_add(sums[i][2 * j + 1], a[i], b[j] + 2);
      }
    }
  }
}

// Eight sums of a row, from `column` on.
inline void leave_sums(const ProductParameters& p, i64 batch, i64 split, i64 row, i64 column, const float* sums) {
  if (p.splits == 1) return write_eight(p, batch, row, column, sums);
  Pack<float, 4>* const to = (Pack<float, 4>*)((float*)p.partial + (split * p.m + row) * p.n + column);
  to[0] = ((const Pack<float, 4>*)sums)[0];
  to[1] = ((const Pack<float, 4>*)sums)[1];
}

// Of blocks that read the same columns the first asks for them.
inline void foresee_tiles(const ProductParameters& p, u32 block) {
  const u32 tiles = p.tiles_m * p.tiles_n;
  if (block % tiles % p.tiles_m != 0 || block / tiles >= (u32)p.splits) return;
  const i64 column = (i64)(block % tiles / p.tiles_m) * TILE_N;
  const i64 each = ((p.k + TILE_K - 1) / TILE_K + p.splits - 1) / p.splits * TILE_K;
  const i64 first = block / tiles * each;
  const i64 depth = p.k - first < each ? p.k - first : each;
  const int pieces = B_ALONG ? (int)((depth + 15) / 16) : TILE_N / 16;  // of 32 bytes, of a row as it lies
  for (int i = (int)threadIdx.x; i * 32 < p.foreseen; i += THREADS) {
    const i64 row = i / pieces, piece = i % pieces * 16;
    const i64 inner = first + (B_ALONG ? piece : row), n = column + (B_ALONG ? row : piece);
    if (inner < first + depth && n < p.n && (!B_ALONG || row < TILE_N))
      foresee((const T*)p.b + inner * p.b_row + n * p.b_column);
  }
}

// Block `block` of the product's.
inline void multiply_tiles(const ProductParameters& p, u32 block) {
  __shared__ Chunk room[STAGES * (A_STRIP + B_STRIP)];
  const u32 tiles = p.tiles_m * p.tiles_n;
  const u32 split = block / tiles % (u32)p.splits;
  const u32 batch = block / tiles / (u32)p.splits;
  TilePlace place;
  // Blocks side by side read the same columns.
  place.row = (i64)(block % tiles % p.tiles_m) * TILE_M;
  place.column = (i64)(block % tiles / p.tiles_m) * TILE_N;
  place.a = (const T*)p.a + offset_of<BATCH_RANK>(batch, p.batch_extents, p.a_batch);
  place.b = (const T*)p.b + offset_of<BATCH_RANK>(batch, p.batch_extents, p.b_batch);
  const i64 strips = (p.k + TILE_K - 1) / TILE_K;
  const i64 each = (strips + p.splits - 1) / p.splits;
  place.first = split * each;
  place.last = place.first + each < strips ? place.first + each : strips;
  float sums[FRAGMENTS_M][FRAGMENTS_N * 2][4];
#pragma unroll
  for (int i = 0; i < FRAGMENTS_M * FRAGMENTS_N * 8; ++i) sums[i / 8 / FRAGMENTS_N][i / 4 % (FRAGMENTS_N * 2)][i % 4] = 0;
#pragma unroll
  for (int i = 0; i < STAGES - 1; ++i) {
    if (place.first + i < place.last) fetch_strip(p, place, room + i * (A_STRIP + B_STRIP), place.first + i);
    end_group();
  }
  int stage = 0;
  for (i64 strip = place.first; strip < place.last; ++strip) {
    await_groups<STAGES - 2>();
    // Behind it all have done with the strip before, whose place is taken.
    __syncthreads();
    const int free_stage = stage == 0 ? STAGES - 1 : stage - 1;
    if (strip + STAGES - 1 < place.last)
      fetch_strip(p, place, room + free_stage * (A_STRIP + B_STRIP), strip + STAGES - 1);
    end_group();
    multiply_strip(sums, room + stage * (A_STRIP + B_STRIP));
    stage = stage == STAGES - 1 ? 0 : stage + 1;
  }
  await_groups<0>();
  __syncthreads();
  // Each warp turns its sums round in shared memory, sixteen rows at a time, and has whole rows.
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  float* const part = (float*)room + warp * 16 * PART_ROW;
#pragma unroll
  for (int i = 0; i < FRAGMENTS_M; ++i) {
#pragma unroll
    for (int j = 0; j < FRAGMENTS_N * 2; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        part[(lane / 4 + e / 2 * 8) * PART_ROW + j * 8 + lane % 4 * 2 + e % 2] = sums[i][j][e];
    }
    __syncwarp();
#pragma unroll
    for (int v = lane; v < 16 * PART_N / 8; v += 32) {
      const i64 row = place.row + warp / WARPS_N * (TILE_M / WARPS_M) + i * 16 + v / (PART_N / 8);
      const i64 column = place.column + warp % WARPS_N * PART_N + v % (PART_N / 8) * 8;
      if (row < p.m && column < p.n)
        leave_sums(p, batch, split, row, column, part + v / (PART_N / 8) * PART_ROW + v % (PART_N / 8) * 8);
    }
    __syncwarp();
  }
}
