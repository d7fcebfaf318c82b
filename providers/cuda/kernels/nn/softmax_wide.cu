// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax of contiguous rows that fit into registers, so that memory is read once:
// PACKS vectors of VECTOR elements per thread, distributed as in row_lanes.cu. T, C and which:
// given.
KERNEL(SoftmaxParameters) {
  typedef Pack<T, VECTOR> Part;
  __shared__ C scratch[32];
  const int packs = (int)(p.length / VECTOR);
  const int lane = (int)threadIdx.x % LANES;
  const i64 at_once = blockDim.x / LANES;
  for (i64 begin = blockIdx.x * at_once; begin < p.rows; begin += gridDim.x * at_once) {
    const i64 row = begin + threadIdx.x / LANES;
    // Threads of a row out of range take part in the barriers.
    const int count = row < p.rows ? packs : 0;
    C x[PACKS][VECTOR];
    C most = Limits<C>::below();
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
      const int i = lane + k * LANES;
      if (i >= count) continue;
      const Part part = ((const Part*)p.source)[row * packs + i];
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) {
        x[k][j] = (C)load(part.at[j]);
        most = larger(most, x[k][j]);
      }
    }
    most = lanes_largest(most, scratch);
    C sum = 0;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
      if (lane + k * LANES >= count) continue;
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) {
#ifdef LOG_SOFTMAX
        x[k][j] -= most;
        sum += exp_(x[k][j]);
#else
        x[k][j] = exp_(x[k][j] - most);
        sum += x[k][j];
#endif
      }
    }
    sum = lanes_sum(sum, scratch);
#ifdef LOG_SOFTMAX
    const C log_sum = log_(sum);
#endif
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
      const int i = lane + k * LANES;
      if (i >= count) continue;
      Part part;
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) {
#ifdef LOG_SOFTMAX
        part.at[j] = store<T>(x[k][j] - log_sum);
#else
        part.at[j] = store<T>(x[k][j] / sum);
#endif
      }
      ((Part*)p.result)[row * packs + i] = part;
    }
  }
}
