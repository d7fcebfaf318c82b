// SPDX-License-Identifier: Apache-2.0
// Distribution of strided rows over threads, and reductions over a row. Without COLUMNS a block has
// one row at a time. With COLUMNS, for adjacent rows with strided elements, it has COLUMNS rows, so
// that loads are coalesced; its threads are a power of 2 times COLUMNS. C: given.
#ifdef COLUMNS
struct RowShare {
  static i64 rows_at_once() { return COLUMNS; }
  static int row() { return threadIdx.x % COLUMNS; }
  static int part() { return threadIdx.x / COLUMNS; }
  static int parts() { return blockDim.x / COLUMNS; }
};
// All threads of the block must call these.
template <class Reduce>
inline C reduce_row(C value, C* scratch, const Reduce& reduce) {
  __syncthreads();
  scratch[threadIdx.x] = value;
  for (int half = RowShare::parts() / 2; half > 0; half /= 2) {
    __syncthreads();
    if (RowShare::part() < half)
      scratch[threadIdx.x] = reduce(scratch[threadIdx.x], scratch[threadIdx.x + half * COLUMNS]);
  }
  __syncthreads();
  return scratch[RowShare::row()];
}
inline C row_sum(C value, C* scratch) {
  return reduce_row(value, scratch, [](C a, C b) { return a + b; });
}
inline C row_largest(C value, C* scratch) {
  return reduce_row(value, scratch, [](C a, C b) { return larger(a, b); });
}
#else
struct RowShare {
  static i64 rows_at_once() { return 1; }
  static int row() { return 0; }
  static int part() { return threadIdx.x; }
  static int parts() { return blockDim.x; }
};
inline C row_sum(C value, C* scratch) { return block_sum(value, scratch); }
inline C row_largest(C value, C* scratch) { return block_largest(value, scratch); }
#endif
