// SPDX-License-Identifier: Apache-2.0
// int8 matmul. BATCH_RANK; A_ALONG, B_ALONG: whether operands are contiguous along the inner axis;
// A_VECTOR, B_VECTOR: whether in whole vectors of 16; A_FLIP, B_FLIP: masks that make four elements
// signed: given.

// Sixteen elements of a row along the inner axis, signed; zeros out of range.
template <bool IS_VECTOR, u32 FLIP>
inline Vector numbers_of(const u8* data, i64 row, i64 rows, i64 row_stride, i64 k, i64 depth,
                         i64 inner_stride) {
  Vector vector = {{0, 0, 0, 0}};
  if (row >= rows || k >= depth) return vector;
  const u8* from = data + row * row_stride + k * inner_stride;
  if (IS_VECTOR) {
    vector = *(const Vector*)from;
#pragma unroll
    for (int i = 0; i < 4; ++i) vector.at[i] ^= FLIP;
    return vector;
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    if (k + i < depth)
      vector.at[i / 4] |= ((u32)from[i * inner_stride] ^ (FLIP & 0xff)) << i % 4 * 8;
  }
  return vector;
}

KERNEL(Int8MatmulParameters) {
  __shared__ Vector scratch[2 * (LEFT_WORDS + RIGHT_WORDS) / 4];
  const u32 tiles = p.tiles_m * p.tiles_n;
  const u32 block = IS_SPLIT ? blockIdx.x % p.out.blocks : blockIdx.x;
  const u32 batch = block / tiles;
  const i64 row = (i64)(block % tiles / p.tiles_n) * TILE_M;
  const i64 column = (i64)(block % tiles % p.tiles_n) * TILE_N;
  const u8* a = (const u8*)p.a + offset_of<BATCH_RANK>(batch, p.batch_extents, p.a_batch);
  const u8* b = (const u8*)p.b + offset_of<BATCH_RANK>(batch, p.batch_extents, p.b_batch);
  Tile tile;
  multiply_tile(
      tile, scratch, share_of(p.out, p.k), A_ALONG, B_ALONG,
      [&](int v, i64 k) {
        const VectorPosition position = vector_position<TILE_M>(v, A_ALONG);
        return numbers_of<A_VECTOR, A_FLIP>(a, position.is_there ? row + position.row : p.m, p.m,
                                            p.a_row, k + position.part * 16, p.k, p.a_inner);
      },
      [&](int v, i64 k) {
        const VectorPosition position = vector_position<TILE_N>(v, B_ALONG);
        return numbers_of<B_VECTOR, B_FLIP>(b, position.is_there ? column + position.row : p.n, p.n,
                                            p.b_column, k + position.part * 16, p.k, p.b_inner);
      });
  for_each_sum(tile, scratch, [&](int y, int x, u32 sum, u32 left_sum, u32 right_sum) {
    const i64 m = row + y, n = column + x;
    if (m < p.m && n < p.n)
      put_sum(p.out, (batch * p.m + m) * p.n + n, m, n, sum, left_sum, right_sum);
  });
}
