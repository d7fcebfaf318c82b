// SPDX-License-Identifier: Apache-2.0
// Cosine and sine of each of `points` parts of a turn. C of the results: given.
KERNEL(TurnsParameters) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.points; i += (i64)gridDim.x * blockDim.x) {
    const double angle = 6.283185307179586476925 * (double)i / (double)p.points;
    ((C*)p.result)[2 * i] = (C)cos_(angle);
    ((C*)p.result)[2 * i + 1] = (C)sin_(angle);
  }
}
