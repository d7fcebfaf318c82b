// SPDX-License-Identifier: Apache-2.0
// GEMV with 4- or 8-bit weights: a warp computes COLUMNS columns of ROWS rows, and its lanes take
// WORDS words of each column in turn. A word has 8 or 4 weights; WORDS words do not cross a block.
// T of the tensors, S of the scales, C computed with (float), ROWS, COLUMNS, BITS, BLOCK_BITS (log2
// of the block size), IS_WHOLE (words end where rows of x do): given.
#define IN_WORD (32 / BITS)
#define IN_PART (WORDS * IN_WORD)
// Weights of half a word are not shifted down: x is scaled down by UP(i) instead, once for all
// columns.
#define IN_HALF (16 / BITS)
#define UP(i) (1 << (i) % IN_HALF * BITS)

// (weight - zero point) * UP(i). OR-ing the bits into 2^23 makes a float without a conversion,
// which has a lower throughput than additions.
inline float centered(u32 half, int i, float zero) {
  const u32 bits = half & (((1u << BITS) - 1) * UP(i));
#if ZEROS == 2
  return float_of(0x4b000000u | bits) - 8388608.0f - zero * UP(i);
#else
  return float_of(0x4b000000u | bits) - (8388608.0f + zero * UP(i));
#endif
}

// The elements of x for a word, [ROWS][IN_WORD].
inline void load_factors(const NBitsMatmulParameters& p, i64 first, int from,
                         float (&factors)[ROWS][IN_WORD]) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const bool is_row = first + r < p.rows;
    const T* x = (const T*)p.x + (first + (is_row ? r : 0)) * p.inner + from;
#if IS_WHOLE
    const bool is_there = is_row && from < (int)p.inner;
    Pack<T, IN_WORD> pack;
    if (is_there) pack = *(const Pack<T, IN_WORD>*)x;
#pragma unroll
    for (int i = 0; i < IN_WORD; ++i)
      factors[r][i] = is_there ? (float)load(pack.at[i]) * (1.0f / UP(i)) : 0.0f;
#else
    for (int i = 0; i < IN_WORD; ++i)
      factors[r][i] = is_row && from + i < (int)p.inner ? (float)load(x[i]) * (1.0f / UP(i)) : 0.0f;
#endif
  }
}

// Prefetches weights before the preceding kernel has ended. Only blocks of the first rows do, as
// all row tiles read the same weights.
inline void prefetch_blocks(const NBitsMatmulParameters& p, u32 number) {
  const i64 column = (number % p.column_tiles * (blockDim.x / 32) + threadIdx.x / 32) * COLUMNS;
  const i64 bytes = p.blocks * p.block * BITS / 8;  // bytes per column
  if (number >= p.column_tiles) return;
  for (int i = (int)threadIdx.x % 32 * 32; i < p.prefetch_bytes; i += 32 * 32) {
    const i64 at = column * bytes + i;
    if (at < p.columns * bytes) prefetch((const u8*)p.weights + at);
  }
}

// Block `number` of the matmul.
inline void multiply_blocks(const NBitsMatmulParameters& p, u32 number) {
  typedef Pack<u32, WORDS> Part;
  const int lane = threadIdx.x % 32;
  const i64 column = (number % p.column_tiles * (blockDim.x / 32) + threadIdx.x / 32) * COLUMNS;
  const i64 first = number / p.column_tiles * ROWS;
  const int parts = column < p.columns ? ((int)p.inner + IN_PART - 1) / IN_PART : 0;
  i64 columns[COLUMNS];  // out of range: the last column is read
#pragma unroll
  for (int c = 0; c < COLUMNS; ++c)
    columns[c] = column + c < p.columns ? column + c : p.columns - 1;
  float sums[COLUMNS][ROWS];
#pragma unroll
  for (int c = 0; c < COLUMNS; ++c)
    for (int r = 0; r < ROWS; ++r) sums[c][r] = 0;
#pragma unroll 2
  for (int w = lane; w < parts; w += 32) {
    const int at = w * IN_PART;
    const int block = at >> BLOCK_BITS;
    Part words[COLUMNS];
    float scale[COLUMNS], zero[COLUMNS], own[COLUMNS][ROWS];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
      words[c] = ((const Part*)p.weights)[columns[c] * (p.blocks * p.block / IN_PART) + w];
      scale[c] = (float)load(((const S*)p.scales)[columns[c] * p.blocks + block]);
      zero[c] = (float)zero_of(p, columns[c], block);
      for (int r = 0; r < ROWS; ++r) own[c][r] = 0;
    }
#pragma unroll
    for (int u = 0; u < WORDS; ++u) {
      float factors[ROWS][IN_WORD];
      load_factors(p, first, at + u * IN_WORD, factors);
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c) {
#pragma unroll
        for (int i = 0; i < IN_WORD; ++i) {
          const float number =
              centered(i < IN_HALF ? words[c].at[u] : words[c].at[u] >> 16, i, zero[c]);
#pragma unroll
          for (int r = 0; r < ROWS; ++r) own[c][r] += number * factors[r][i];
        }
      }
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c)
      for (int r = 0; r < ROWS; ++r) sums[c][r] += own[c][r] * scale[c];
  }
#pragma unroll
  for (int c = 0; c < COLUMNS; ++c) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      float sum = sums[c][r];
      for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
      if (lane != 0 || column + c >= p.columns || first + r >= p.rows) continue;
      const i64 position = (first + r) * p.columns + column + c;
      if (p.bias) sum += (float)load(((const T*)p.bias)[column + c]);
      if (p.added) sum += (float)load(((const T*)p.added)[position]);
      ((T*)p.result)[position] = store<T>(sum);
    }
  }
}
