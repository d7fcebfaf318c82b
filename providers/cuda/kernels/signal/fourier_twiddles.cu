// SPDX-License-Identifier: Apache-2.0
// Twiddle factors: cosine and sine of 2 pi i / points. C of the results: given.
KERNEL(TwiddleParameters) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.points;
       i += (i64)gridDim.x * blockDim.x) {
    const double angle = 6.283185307179586476925 * (double)i / (double)p.points;
    ((C*)p.result)[2 * i] = (C)cos_(angle);
    ((C*)p.result)[2 * i + 1] = (C)sin_(angle);
  }
}
