// SPDX-License-Identifier: Apache-2.0
// Split-K reduction: applies the epilogue to the sums of several blocks. HAS_COLUMNS: scales and
// zero points may be per column: given.
KERNEL(Int8ReductionParameters) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < p.count; at += step) {
    const i64 m = at / p.columns % p.rows;
    ((T*)p.out.result)[at] =
        result_of(p.out, m, HAS_COLUMNS ? at % p.columns : 0, (i32)p.out.partial[at]);
  }
}
