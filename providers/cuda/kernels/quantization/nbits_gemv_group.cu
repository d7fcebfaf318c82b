// SPDX-License-Identifier: Apache-2.0
// A group of matmuls with one x (nbits_gemv.cu) in one launch.
struct GroupPosition {
  int which;   // index of the matmul
  u32 number;  // block of the matmul
};
inline GroupPosition position_in_group(const NBitsGroupParameters& p) {
  GroupPosition position = {0, blockIdx.x};
  while (position.number >= p.blocks[position.which]) position.number -= p.blocks[position.which++];
  return position;
}
inline void prefetch_group(const NBitsGroupParameters& p) {
  const GroupPosition position = position_in_group(p);
  prefetch_blocks(p.matmuls[position.which], position.number);
}
PREFETCHING_KERNEL(NBitsGroupParameters, prefetch_group(p)) {
  const GroupPosition position = position_in_group(p);
  multiply_blocks(p.matmuls[position.which], position.number);
}
