// SPDX-License-Identifier: Apache-2.0
// A matrix in blocks as a matrix [columns, inner] of T, for products of many rows. T, S, C, BITS:
// given.
KERNEL(BlockProductParameters) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  const i64 in_row = p.blocks * p.block * BITS / 8;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.columns * p.inner; i += step) {
    const i64 column = i / p.inner;
    const i64 at = i % p.inner;
    const i64 block = at / p.block;
    const u8 byte = ((const u8*)p.weights)[column * in_row + at * BITS / 8];
    const C number = (C)(BITS == 8 ? byte : at % 2 ? byte >> 4 : byte & 15);
    const C scale = (C)load(((const S*)p.scales)[column * p.blocks + block]);
    ((T*)p.result)[i] = store<T>((number - zero_of(p, column, block)) * scale);
  }
}
