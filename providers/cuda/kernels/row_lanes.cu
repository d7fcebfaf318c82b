// SPDX-License-Identifier: Apache-2.0
// Distribution of rows over threads that hold them in registers, and reductions over a row. With
// LANES, a power of 2 of at most a warp, LANES threads have a row and a block has several rows;
// else a block has one. C: given.
#ifdef LANES
inline C lanes_sum(C value, C*) {
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}
inline C lanes_largest(C value, C*) {
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2)
    value = larger(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}
#else
#define LANES ((int)blockDim.x)
inline C lanes_sum(C value, C* scratch) { return block_sum(value, scratch); }
inline C lanes_largest(C value, C* scratch) { return block_largest(value, scratch); }
#endif
