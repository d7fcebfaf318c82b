// SPDX-License-Identifier: Apache-2.0
// What becomes of sums that several blocks have made together. HAS_COLUMNS: whether scales and the
// like may differ by column: given.
KERNEL(ByteJoinParameters) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < p.count; at += step) {
    const i64 m = at / p.columns % p.rows;
    ((T*)p.out.result)[at] = result_of(p.out, m, HAS_COLUMNS ? at % p.columns : 0, (i32)p.out.partial[at]);
  }
}
