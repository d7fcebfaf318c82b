// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLinear. With FINDS_BOUNDS: minimum and maximum per block; else scale and zero
// point from all bounds, and the quantised elements. NaN is ignored.
inline float least_of(float a, float b) { return b < a ? b : a; }
inline float greatest_of(float a, float b) { return b > a ? b : a; }

// Reduction over the block of 256 threads.
inline void combine_bounds(float& least, float& greatest) {
  __shared__ float scratch[2][8];
  for (int step = 16; step > 0; step /= 2) {
    least = least_of(least, __shfl_xor_sync(0xffffffffu, least, step));
    greatest = greatest_of(greatest, __shfl_xor_sync(0xffffffffu, greatest, step));
  }
  if (threadIdx.x % 32 == 0) {
    scratch[0][threadIdx.x / 32] = least;
    scratch[1][threadIdx.x / 32] = greatest;
  }
  __syncthreads();
  for (int i = 0; i < 8; ++i) {
    least = least_of(least, scratch[0][i]);
    greatest = greatest_of(greatest, scratch[1][i]);
  }
}

KERNEL(DynamicQuantizeParameters) {
  const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  const i64 step = (i64)gridDim.x * blockDim.x;
  float least = 0, greatest = 0;
#if FINDS_BOUNDS
  for (i64 i = first; i < p.count; i += step) {
    least = least_of(least, p.source[i]);
    greatest = greatest_of(greatest, p.source[i]);
  }
  combine_bounds(least, greatest);
  if (threadIdx.x == 0) {
    p.bounds[2 * blockIdx.x] = least;
    p.bounds[2 * blockIdx.x + 1] = greatest;
  }
#else
  for (i64 i = threadIdx.x; i < p.shares; i += blockDim.x) {
    least = least_of(least, p.bounds[2 * i]);
    greatest = greatest_of(greatest, p.bounds[2 * i + 1]);
  }
  combine_bounds(least, greatest);
  // Any scale suits a tensor of zeros.
  const float scale = greatest > least ? (greatest - least) / 255.0f : 1.0f;
  const u8 zero = QuantizeLinear<u8>(-least, scale, 0);
  if (first == 0 && p.scale) *p.scale = scale;
  if (first == 0 && p.zero) *p.zero = zero;
  for (i64 i = first; p.result && i < p.count; i += step)
    p.result[i] = QuantizeLinear<u8>(p.source[i], scale, zero);
#endif
}
