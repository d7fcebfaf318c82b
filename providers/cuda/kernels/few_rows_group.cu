// SPDX-License-Identifier: Apache-2.0
// Products of the same few rows with several matrices (few_rows.cu), in one launch.
struct GroupPlace {
  int which;  // of the products
  u32 block;  // of it
};
inline GroupPlace place_in_group(const ProductGroupParameters& p) {
  GroupPlace place = {0, blockIdx.x};
  while (place.block >= p.products[place.which].tiles_n) place.block -= p.products[place.which++].tiles_n;
  return place;
}
inline void foresee_group(const ProductGroupParameters& p) {
  const GroupPlace place = place_in_group(p);
  foresee_few_rows(p.products[place.which], place.block);
}
FORESEEING_KERNEL(ProductGroupParameters, foresee_group(p)) {
  const GroupPlace place = place_in_group(p);
  multiply_few_rows(p.products[place.which], place.block);
}
