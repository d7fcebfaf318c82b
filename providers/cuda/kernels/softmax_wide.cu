// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax of rows in one piece that are read VECTOR elements at a time and stay in
// registers, PACKS of them a thread: memory is read once. With LANES, a power of 2 of at most a
// warp, as many threads share a row and a block has several; else a block has a row at a time. T, C
// and which: given.
#ifdef LANES
inline C of_all(C value, C*, bool is_sum) {
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2) {
    const C other = __shfl_xor_sync(0xffffffffu, value, step);
    value = is_sum ? value + other : larger(value, other);
  }
  return value;
}
#else
#define LANES ((int)blockDim.x)
inline C of_all(C value, C* room, bool is_sum) {
  return is_sum ? block_sum(value, room) : block_largest(value, room);
}
#endif

KERNEL(SoftmaxParameters) {
  typedef Pack<T, VECTOR> Part;
  __shared__ C room[32];
  const int packs = (int)(p.length / VECTOR);
  const int lane = (int)threadIdx.x % LANES;
  const i64 at_once = blockDim.x / LANES;
  for (i64 begin = blockIdx.x * at_once; begin < p.rows; begin += gridDim.x * at_once) {
    const i64 row = begin + threadIdx.x / LANES;
    // Threads of a row that is not there go along.
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
    most = of_all(most, room, false);
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
    sum = of_all(sum, room, true);
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
