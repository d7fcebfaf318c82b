// SPDX-License-Identifier: Apache-2.0
// Which threads share a row and what they find out together. Without COLUMNS a block has a row at a
// time. With it, for rows that lie side by side and whose elements do not, it has COLUMNS of them, so
// that what is read together lies together; its threads are a power of 2 times COLUMNS. C: given.
#ifdef COLUMNS
struct RowShare {
  static i64 rows_at_once() { return COLUMNS; }
  static int row() { return threadIdx.x % COLUMNS; }
  static int part() { return threadIdx.x / COLUMNS; }
  static int parts() { return blockDim.x / COLUMNS; }
};
// Every thread of the block has to call these.
template <class Join>
inline C joined(C value, C* room, const Join& join) {
  __syncthreads();
  room[threadIdx.x] = value;
  for (int half = RowShare::parts() / 2; half > 0; half /= 2) {
    __syncthreads();
    if (RowShare::part() < half)
      room[threadIdx.x] = join(room[threadIdx.x], room[threadIdx.x + half * COLUMNS]);
  }
  __syncthreads();
  return room[RowShare::row()];
}
inline C row_sum(C value, C* room) {
  return joined(value, room, [](C a, C b) { return a + b; });
}
inline C row_largest(C value, C* room) {
  return joined(value, room, [](C a, C b) { return larger(a, b); });
}
#else
struct RowShare {
  static i64 rows_at_once() { return 1; }
  static int row() { return 0; }
  static int part() { return threadIdx.x; }
  static int parts() { return blockDim.x; }
};
inline C row_sum(C value, C* room) { return block_sum(value, room); }
inline C row_largest(C value, C* room) { return block_largest(value, room); }
#endif
