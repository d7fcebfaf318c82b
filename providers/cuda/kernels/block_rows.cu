// SPDX-License-Identifier: Apache-2.0
// A few rows times a matrix in blocks: a warp makes one column of ROWS rows, and its lanes take
// WORDS words of the matrix in turn, 8 or 4 numbers each, which together cross no block. T of the
// tensors, S of the scales, C computed with (float), ROWS, BITS, BLOCK_BITS (2 to which is the length
// of a block), IS_WHOLE (words end where rows of x do): given.
#define IN_WORD (32 / BITS)
#define IN_PART (WORDS * IN_WORD)

// A number of a word less the zero point. As the low bits of 2^23 it is a float without a conversion,
// of which a device does fewer than of sums.
inline float centered(u32 bits, float zero) {
#if ZEROS == 2
  return float_of(0x4b000000u | bits) - 8388608.0f - zero;
#else
  return float_of(0x4b000000u | bits) - (8388608.0f + zero);
#endif
}

KERNEL(BlockProductParameters) {
  typedef Pack<u32, WORDS> Part;
  const int lane = threadIdx.x % 32;
  const i64 column = blockIdx.x % p.column_tiles * (blockDim.x / 32) + threadIdx.x / 32;
  const i64 first = blockIdx.x / p.column_tiles * ROWS;
  const bool is_column = column < p.columns;
  const int inner = (int)p.inner;
  const int parts = is_column ? (inner + IN_PART - 1) / IN_PART : 0;
  const Part* row = (const Part*)p.weights + (is_column ? column : 0) * (p.blocks * p.block / IN_PART);
  float sums[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) sums[r] = 0;
#pragma unroll 2
  for (int w = lane; w < parts; w += 32) {
    const int at = w * IN_PART;
    const int block = at >> BLOCK_BITS;
    const Part part = row[w];
    const float scale = (float)load(((const S*)p.scales)[column * p.blocks + block]);
    const float zero = (float)zero_of(p, column, block);
    float own[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) own[r] = 0;
#pragma unroll
    for (int u = 0; u < WORDS; ++u) {
      float numbers[IN_WORD];
#pragma unroll
      for (int i = 0; i < IN_WORD; ++i) numbers[i] = centered(part.at[u] >> (i * BITS) & ((1 << BITS) - 1), zero);
      const int from = at + u * IN_WORD;
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        if (first + r >= p.rows) break;
        const T* x = (const T*)p.x + (first + r) * p.inner + from;
#if IS_WHOLE
        if (from >= inner) break;
        const Pack<T, IN_WORD> pack = *(const Pack<T, IN_WORD>*)x;
#pragma unroll
        for (int i = 0; i < IN_WORD; ++i) own[r] += numbers[i] * (float)load(pack.at[i]);
#else
        for (int i = 0; i < IN_WORD && from + i < inner; ++i) own[r] += numbers[i] * (float)load(x[i]);
#endif
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sums[r] += own[r] * scale;
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    float sum = sums[r];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane != 0 || !is_column || first + r >= p.rows) continue;
    if (p.bias) sum += (float)load(((const T*)p.bias)[column]);
    ((T*)p.result)[(first + r) * p.columns + column] = store<T>(sum);
  }
}
