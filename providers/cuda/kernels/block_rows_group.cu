// SPDX-License-Identifier: Apache-2.0
// Products of the same rows with several matrices in blocks (block_rows.cu), in one launch.
struct GroupPlace {
  int which;   // of the products
  u32 number;  // of the block, among its
};
inline GroupPlace place_in_group(const BlockGroupParameters& p) {
  GroupPlace place = {0, blockIdx.x};
  while (place.number >= p.blocks[place.which]) place.number -= p.blocks[place.which++];
  return place;
}
inline void foresee_group(const BlockGroupParameters& p) {
  const GroupPlace place = place_in_group(p);
  foresee_blocks(p.products[place.which], place.number);
}
FORESEEING_KERNEL(BlockGroupParameters, foresee_group(p)) {
  const GroupPlace place = place_in_group(p);
  multiply_blocks(p.products[place.which], place.number);
}
