// SPDX-License-Identifier: Apache-2.0
// A group of matmuls with one left operand (matmul_tiles.cu) in one launch.
struct GroupPosition {
  int which;  // index of the matmul
  u32 block;  // block of the matmul
};
inline GroupPosition position_in_group(const MatmulGroupParameters& p) {
  GroupPosition position = {0, blockIdx.x};
  while (position.block >= p.matmuls[position.which].tiles_m * p.matmuls[position.which].tiles_n) {
    position.block -= p.matmuls[position.which].tiles_m * p.matmuls[position.which].tiles_n;
    ++position.which;
  }
  return position;
}
inline void prefetch_group(const MatmulGroupParameters& p) {
  const GroupPosition position = position_in_group(p);
  prefetch_tiles(p.matmuls[position.which], position.block);
}
PREFETCHING_KERNEL(MatmulGroupParameters, prefetch_group(p)) {
  const GroupPosition position = position_in_group(p);
  multiply_tiles(p.matmuls[position.which], position.block);
}
