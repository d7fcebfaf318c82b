// SPDX-License-Identifier: Apache-2.0
// Reductions over a block. All threads of the block must call them, and the block must consist of
// whole warps.
template <class C>
inline C block_sum(C value, C* scratch) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  const int warp = threadIdx.x / 32;
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[warp] = value;
  __syncthreads();
  C all = 0;
  for (int i = 0; i < (int)blockDim.x / 32; ++i) all += scratch[i];
  return all;
}
template <class C>
inline C block_largest(C value, C* scratch) {
  for (int step = 16; step > 0; step /= 2)
    value = larger(value, __shfl_xor_sync(0xffffffffu, value, step));
  const int warp = threadIdx.x / 32;
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[warp] = value;
  __syncthreads();
  C all = scratch[0];
  for (int i = 1; i < (int)blockDim.x / 32; ++i) all = larger(all, scratch[i]);
  return all;
}
