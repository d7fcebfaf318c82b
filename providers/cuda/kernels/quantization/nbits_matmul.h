// SPDX-License-Identifier: Apache-2.0
// Parameters of MatMulNBits: weights of 4 or 8 bits, quantised by block.
#ifndef GANTRY_CUDA_NBITS_MATMUL
#define GANTRY_CUDA_NBITS_MATMUL
#include "kernels/index.h"
// y[r, c] = sum over i of x[r, i] * (w[c, i] - zero[c, i / block]) * scale[c, i / block] + bias[c].
// A column has blocks * block weights; of 4 bits two per byte, the first in the low half.
struct NBitsMatmulParameters {
  void* result;
  const void* x;        // [rows, inner]
  const void* weights;  // [columns, blocks, bytes of a block]
  const void* scales;   // [columns, blocks]
  const void* zeros;    // null: half of the range; packed like the weights, or of the type Z
  const void* bias;     // null: none
  const void* added;    // of the result's shape; null: none
  long long rows;
  long long columns;
  long long inner;
  long long blocks;
  long long block;
  long long column_tiles;  // thread blocks per row tile
  long long zero_bytes;    // bytes of packed zero points per column
  int prefetch_bytes;      // bytes of weights that a warp prefetches
  Divisor words;           // 32-bit words per column
};

// A group of matmuls with one x.
#define MOST_NBITS_MATMULS 4
struct NBitsGroupParameters {
  struct NBitsMatmulParameters matmuls[MOST_NBITS_MATMULS];
  unsigned blocks[MOST_NBITS_MATMULS];  // thread blocks of each
};
#endif
