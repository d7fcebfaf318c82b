// SPDX-License-Identifier: Apache-2.0
// Cumulative sums or products along lines, one block per line (generate.cu: one thread per line),
// in pieces of the block's size. T, C computed with, IDENTITY, COMBINE(a, b): given.
KERNEL(GenerateParameters) {
  __shared__ C scratch[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  for (i64 line = blockIdx.x; line < p.count; line += gridDim.x) {
    const i64 first = line / p.inner * p.axis * p.inner + line % p.inner;
    C before = IDENTITY;  // prefix of all earlier pieces
    for (i64 piece = 0; piece < p.axis; piece += blockDim.x) {
      const i64 k = piece + threadIdx.x;
      const i64 at = first + (p.is_reversed ? p.axis - 1 - k : k) * p.inner;
      C value = k < p.axis ? (C)load(((const T*)p.source)[at]) : IDENTITY;
      for (int step = 1; step < 32; step *= 2) {
        const C lower = __shfl_up_sync(0xffffffffu, value, step);
        if (lane >= step) value = COMBINE(lower, value);
      }
      const C lower = __shfl_up_sync(0xffffffffu, value, 1);
      __syncthreads();  // all threads have read the previous piece
      if (lane == 31) scratch[warp] = value;
      __syncthreads();
      C here = before;
      for (int i = 0; i < warp; ++i) here = COMBINE(here, scratch[i]);
      if (k < p.axis) {
        const C result = !p.is_exclusive ? COMBINE(here, value)
                         : lane == 0     ? here
                                         : COMBINE(here, lower);
        ((T*)p.result)[at] = store<T>(result);
      }
      for (int i = 0; i < warps; ++i) before = COMBINE(before, scratch[i]);
    }
  }
}
