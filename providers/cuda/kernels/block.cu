// SPDX-License-Identifier: Apache-2.0
// What the threads of a block find out together. Every thread of the block has to call it, and the
// block is of whole warps.
template <class C>
inline C block_sum(C value, C* room) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  const int warp = threadIdx.x / 32;
  __syncthreads();
  if (threadIdx.x % 32 == 0) room[warp] = value;
  __syncthreads();
  C all = 0;
  for (int i = 0; i < (int)blockDim.x / 32; ++i) all += room[i];
  return all;
}
template <class C>
inline C block_largest(C value, C* room) {
  for (int step = 16; step > 0; step /= 2)
    value = larger(value, __shfl_xor_sync(0xffffffffu, value, step));
  const int warp = threadIdx.x / 32;
  __syncthreads();
  if (threadIdx.x % 32 == 0) room[warp] = value;
  __syncthreads();
  C all = room[0];
  for (int i = 1; i < (int)blockDim.x / 32; ++i) all = larger(all, room[i]);
  return all;
}
