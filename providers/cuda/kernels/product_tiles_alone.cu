// SPDX-License-Identifier: Apache-2.0
// One product by tiles (product_tiles.cu).
KERNEL(ProductParameters) { multiply_tiles(p, blockIdx.x); }
