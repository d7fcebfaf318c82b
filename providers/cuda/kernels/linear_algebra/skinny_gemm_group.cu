// SPDX-License-Identifier: Apache-2.0
// A group of skinny GEMMs with one left operand (skinny_gemm.cu) in one launch.
struct GroupPosition {
  int which;  // index of the matmul
  u32 block;  // block of the matmul
};
inline GroupPosition position_in_group(const MatmulGroupParameters& p) {
  GroupPosition position = {0, blockIdx.x};
  while (position.block >= p.matmuls[position.which].tiles_n)
    position.block -= p.matmuls[position.which++].tiles_n;
  return position;
}
inline void prefetch_group(const MatmulGroupParameters& p) {
  const GroupPosition position = position_in_group(p);
  prefetch_skinny_gemm(p.matmuls[position.which], position.block);
}
PREFETCHING_KERNEL(MatmulGroupParameters, prefetch_group(p)) {
  const GroupPosition position = position_in_group(p);
  multiply_skinny(p.matmuls[position.which], position.block);
}
