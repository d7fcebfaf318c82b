// SPDX-License-Identifier: Apache-2.0
// Matmul of 16-bit floats by tensor cores (tensor_cores.cu): a block computes a tile of TILE_M x
// TILE_N sums from strips of TILE_K, with a pipeline of STAGES strips in shared memory. Its WARPS_M
// x WARPS_N warps compute equal parts. B_ALONG: whether the right operand is contiguous along the
// inner axis, else along its rows. Rows of both are whole chunks of 8. T of the tensors,
// BATCH_RANK: given.
#define THREADS (WARPS_M * WARPS_N * 32)
#define FRAGMENTS_M (TILE_M / WARPS_M / 16)
#define FRAGMENTS_N (TILE_N / WARPS_N / 16)
#define A_CHUNKS (TILE_K / 8)  // per row
#define B_ROWS (B_ALONG ? TILE_N : TILE_K)
#define B_CHUNKS (B_ALONG ? TILE_K / 8 : TILE_N / 8)
#define A_STRIP (TILE_M * A_CHUNKS)
#define B_STRIP (B_ROWS * B_CHUNKS)
#define PART_N (TILE_N / WARPS_N)  // columns per warp
#define PART_ROW (PART_N + 4)      // row pitch of a warp's sums, padded against bank conflicts

// The tile of a block.
struct TilePosition {
  i64 row, column;
  const T* a;
  const T* b;
  i64 first, last;  // strips
};

inline void fetch_strip(const MatmulParameters& p, const TilePosition& position, Chunk* scratch,
                        i64 strip) {
  const i64 k = strip * TILE_K;
#pragma unroll
  for (int i = (int)threadIdx.x; i < A_STRIP; i += THREADS) {
    const int row = i / A_CHUNKS, chunk = i % A_CHUNKS;
    const bool is_there = position.row + row < p.m && k + chunk * 8 < p.k;
    fetch(scratch + chunk_position<A_CHUNKS>(row, chunk),
          is_there ? position.a + (position.row + row) * p.a_row + k + chunk * 8 : position.a,
          is_there);
  }
#pragma unroll
  for (int i = (int)threadIdx.x; i < B_STRIP; i += THREADS) {
    const int row = i / B_CHUNKS, chunk = i % B_CHUNKS;
    const i64 column = position.column + (B_ALONG ? row : chunk * 8);
    const i64 inner = k + (B_ALONG ? chunk * 8 : row);
    const bool is_there = column < p.n && inner < p.k;
    fetch(scratch + A_STRIP + chunk_position<B_CHUNKS>(row, chunk),
          is_there ? position.b + inner * p.b_row + column * p.b_column : position.b, is_there);
  }
}

inline void multiply_strip(float (*sums)[FRAGMENTS_N * 2][4], const Chunk* scratch) {
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  const int row = warp / WARPS_N * (TILE_M / WARPS_M);
  const int column = warp % WARPS_N * PART_N;
#pragma unroll
  for (int step = 0; step < TILE_K / 16; ++step) {
    u32 a[FRAGMENTS_M][4], b[FRAGMENTS_N][4];
#pragma unroll
    for (int i = 0; i < FRAGMENTS_M; ++i)
      load_matrices<false>(
          a[i], scratch + chunk_position<A_CHUNKS>(row + 16 * i + lane % 16, step * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < FRAGMENTS_N; ++j) {
      if (B_ALONG) {
        load_matrices<false>(
            b[j], scratch + A_STRIP +
                      chunk_position<B_CHUNKS>(column + 16 * j + lane / 16 * 8 + lane % 8,
                                               step * 2 + lane / 8 % 2));
      } else {
        load_matrices<true>(b[j], scratch + A_STRIP +
                                      chunk_position<B_CHUNKS>(step * 16 + lane % 16,
                                                               column / 8 + 2 * j + lane / 16));
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

// Writes eight sums of a row, from `column` on.
inline void store_sums(const MatmulParameters& p, i64 batch, i64 split, i64 row, i64 column,
                       const float* sums) {
  if (p.splits == 1) return write_vector(p, batch, row, column, sums);
  Pack<float, 4>* const to =
      (Pack<float, 4>*)((float*)p.partial + (split * p.m + row) * p.n + column);
  to[0] = ((const Pack<float, 4>*)sums)[0];
  to[1] = ((const Pack<float, 4>*)sums)[1];
}

// Only the first of the blocks that read the same columns prefetches them.
inline void prefetch_tiles(const MatmulParameters& p, u32 block) {
  const u32 tiles = p.tiles_m * p.tiles_n;
  if (block % tiles % p.tiles_m != 0 || block / tiles >= (u32)p.splits) return;
  const i64 column = (i64)(block % tiles / p.tiles_m) * TILE_N;
  const i64 each = ((p.k + TILE_K - 1) / TILE_K + p.splits - 1) / p.splits * TILE_K;
  const i64 first = block / tiles * each;
  const i64 depth = p.k - first < each ? p.k - first : each;
  const int pieces =
      B_ALONG ? (int)((depth + 15) / 16) : TILE_N / 16;  // sectors of 32 bytes per stored row
  for (int i = (int)threadIdx.x; i * 32 < p.prefetch_bytes; i += THREADS) {
    const i64 row = i / pieces, piece = i % pieces * 16;
    const i64 inner = first + (B_ALONG ? piece : row), n = column + (B_ALONG ? row : piece);
    if (inner < first + depth && n < p.n && (!B_ALONG || row < TILE_N))
      prefetch((const T*)p.b + inner * p.b_row + n * p.b_column);
  }
}

// Block `block` of the matmul.
inline void multiply_tiles(const MatmulParameters& p, u32 block) {
  __shared__ Chunk scratch[STAGES * (A_STRIP + B_STRIP)];
  const u32 tiles = p.tiles_m * p.tiles_n;
  const u32 split = block / tiles % (u32)p.splits;
  const u32 batch = block / tiles / (u32)p.splits;
  TilePosition position;
  // Adjacent blocks read the same columns.
  position.row = (i64)(block % tiles % p.tiles_m) * TILE_M;
  position.column = (i64)(block % tiles / p.tiles_m) * TILE_N;
  position.a = (const T*)p.a + offset_of<BATCH_RANK>(batch, p.batch_extents, p.a_batch);
  position.b = (const T*)p.b + offset_of<BATCH_RANK>(batch, p.batch_extents, p.b_batch);
  const i64 strips = (p.k + TILE_K - 1) / TILE_K;
  const i64 each = (strips + p.splits - 1) / p.splits;
  position.first = split * each;
  position.last = position.first + each < strips ? position.first + each : strips;
  float sums[FRAGMENTS_M][FRAGMENTS_N * 2][4];
#pragma unroll
  for (int i = 0; i < FRAGMENTS_M * FRAGMENTS_N * 8; ++i)
    sums[i / 8 / FRAGMENTS_N][i / 4 % (FRAGMENTS_N * 2)][i % 4] = 0;
#pragma unroll
  for (int i = 0; i < STAGES - 1; ++i) {
    if (position.first + i < position.last)
      fetch_strip(p, position, scratch + i * (A_STRIP + B_STRIP), position.first + i);
    end_group();
  }
  int stage = 0;
  for (i64 strip = position.first; strip < position.last; ++strip) {
    await_groups<STAGES - 2>();
    // After it all warps are done with the previous strip, whose buffer is reused.
    __syncthreads();
    const int free_stage = stage == 0 ? STAGES - 1 : stage - 1;
    if (strip + STAGES - 1 < position.last)
      fetch_strip(p, position, scratch + free_stage * (A_STRIP + B_STRIP), strip + STAGES - 1);
    end_group();
    multiply_strip(sums, scratch + stage * (A_STRIP + B_STRIP));
    stage = stage == STAGES - 1 ? 0 : stage + 1;
  }
  await_groups<0>();
  __syncthreads();
  // Each warp transposes its sums in shared memory, sixteen rows at a time, to write whole rows.
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  float* const part = (float*)scratch + warp * 16 * PART_ROW;
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
      const i64 row =
          position.row + warp / WARPS_N * (TILE_M / WARPS_M) + i * 16 + v / (PART_N / 8);
      const i64 column = position.column + warp % WARPS_N * PART_N + v % (PART_N / 8) * 8;
      if (row < p.m && column < p.n)
        store_sums(p, batch, split, row, column,
                   part + v / (PART_N / 8) * PART_ROW + v % (PART_N / 8) * 8);
    }
    __syncwarp();
  }
}
