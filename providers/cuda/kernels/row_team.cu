// SPDX-License-Identifier: Apache-2.0
// Which threads hold a row in registers, and what they find out together. With LANES, a power of 2 of
// at most a warp, as many threads have a row and a block has several; else a block has one. C: given.
#ifdef LANES
inline C team_sum(C value, C*) {
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}
inline C team_largest(C value, C*) {
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2)
    value = larger(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}
#else
#define LANES ((int)blockDim.x)
inline C team_sum(C value, C* room) { return block_sum(value, room); }
inline C team_largest(C value, C* room) { return block_largest(value, room); }
#endif
