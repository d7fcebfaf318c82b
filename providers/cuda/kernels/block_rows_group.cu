// SPDX-License-Identifier: Apache-2.0
// Products of the same rows with several matrices in blocks (block_rows.cu), in one launch.
KERNEL(BlockGroupParameters) {
  u32 number = blockIdx.x;
  int which = 0;
  while (number >= p.blocks[which]) number -= p.blocks[which++];
  multiply_blocks(p.products[which], number);
}
