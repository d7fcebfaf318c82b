// SPDX-License-Identifier: Apache-2.0
// Products of the same few rows with several matrices (few_rows.cu), in one launch.
KERNEL(ProductGroupParameters) {
  u32 block = blockIdx.x;
  int which = 0;
  while (block >= p.products[which].tiles_n) block -= p.products[which++].tiles_n;
  multiply_few_rows(p.products[which], block);
}
