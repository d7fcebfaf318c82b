// SPDX-License-Identifier: Apache-2.0
// A few rows times a matrix in blocks: a warp makes one column of ROWS rows, and its lanes take
// words of the matrix in turn, 8 or 4 numbers at a time, none of which crosses a block. T of the
// tensors, S of the scales, C computed with, ROWS, BITS, IS_WHOLE (words end where rows of x do):
// given.
#define IN_WORD (32 / BITS)

KERNEL(BlockProductParameters) {
  const int lane = threadIdx.x % 32;
  const i64 column = blockIdx.x % p.column_tiles * (blockDim.x / 32) + threadIdx.x / 32;
  const i64 first = blockIdx.x / p.column_tiles * ROWS;
  const i64 words = p.blocks * p.block / IN_WORD;
  const bool is_column = column < p.columns;
  const u32* row = (const u32*)p.weights + (is_column ? column : 0) * words;
  C sums[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) sums[r] = 0;
  for (i64 w = lane; is_column && w < words; w += 32) {
    const i64 at = w * IN_WORD;
    if (at >= p.inner) break;
    const i64 block = at / p.block;
    const C scale = (C)load(((const S*)p.scales)[column * p.blocks + block]);
    const C zero = zero_of(p, column, block);
    const u32 word = row[w];
    C numbers[IN_WORD];
#pragma unroll
    for (int i = 0; i < IN_WORD; ++i) numbers[i] = ((C)(word >> (i * BITS) & ((1 << BITS) - 1)) - zero) * scale;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (first + r >= p.rows) break;
      const T* x = (const T*)p.x + (first + r) * p.inner + at;
#if IS_WHOLE
      const Pack<T, IN_WORD> pack = *(const Pack<T, IN_WORD>*)x;
#pragma unroll
      for (int i = 0; i < IN_WORD; ++i) sums[r] += numbers[i] * (C)load(pack.at[i]);
#else
      for (int i = 0; i < IN_WORD && at + i < p.inner; ++i) sums[r] += numbers[i] * (C)load(x[i]);
#endif
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    C sum = sums[r];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane != 0 || !is_column || first + r >= p.rows) continue;
    if (p.bias) sum += (C)load(((const T*)p.bias)[column]);
    ((T*)p.result)[(first + r) * p.columns + column] = store<T>(sum);
  }
}
