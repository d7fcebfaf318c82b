// SPDX-License-Identifier: Apache-2.0
// One product by tiles (product_tiles.cu).
FORESEEING_KERNEL(ProductParameters, foresee_tiles(p, blockIdx.x)) { multiply_tiles(p, blockIdx.x); }
