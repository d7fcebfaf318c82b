// SPDX-License-Identifier: Apache-2.0
// Products of the same rows with several matrices (product_tiles.cu), in one launch.
KERNEL(ProductGroupParameters) {
  u32 block = blockIdx.x;
  int which = 0;
  while (block >= p.products[which].tiles_m * p.products[which].tiles_n) {
    block -= p.products[which].tiles_m * p.products[which].tiles_n;
    ++which;
  }
  multiply_tiles(p.products[which], block);
}
