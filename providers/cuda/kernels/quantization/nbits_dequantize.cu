// SPDX-License-Identifier: Apache-2.0
// Dequantises 4- or 8-bit weights to a matrix [columns, inner] of T, for matmuls with many rows: a
// thread takes a word of 8 or 4 weights of one block. T, S of the scales, C, BITS, BLOCK_BITS (log2
// of the block size), IS_WHOLE (words end where rows do), Index: given.
#define IN_WORD (32 / BITS)

KERNEL(NBitsMatmulParameters) {
  const i64 words_in_row = p.blocks * p.block / IN_WORD;  // padding behind the row included
  FOR_EACH(i, p.columns * (i64)p.words.divisor) {
    const Index column = quotient(i, p.words);
    const int word = (int)(i - column * (Index)p.words.divisor);
    const int at = word * IN_WORD;
    const i64 block = at >> BLOCK_BITS;
    const u32 bits = ((const u32*)p.weights)[(i64)column * words_in_row + word];
    const C scale = (C)load(((const S*)p.scales)[(i64)column * p.blocks + block]);
    const C zero = zero_of(p, (i64)column, block);
    Pack<T, IN_WORD> numbers;
#pragma unroll
    for (int j = 0; j < IN_WORD; ++j)
      numbers.at[j] = store<T>(((C)(bits >> (j * BITS) & ((1 << BITS) - 1)) - zero) * scale);
    T* result = (T*)p.result + (i64)column * p.inner + at;
#if IS_WHOLE
    *(Pack<T, IN_WORD>*)result = numbers;
#else
    for (int j = 0; j < IN_WORD && at + j < p.inner; ++j) result[j] = numbers.at[j];
#endif
  }
}
