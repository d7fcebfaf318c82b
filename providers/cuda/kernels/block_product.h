// SPDX-License-Identifier: Apache-2.0
// Parameters of products with a matrix of 4 or 8 bits in blocks.
#ifndef GANTRY_CUDA_BLOCK_PRODUCT
#define GANTRY_CUDA_BLOCK_PRODUCT
#include "index.h"
// y[r, c] = sum over i of x[r, i] * (w[c, i] - zero[c, i / block]) * scale[c, i / block] + bias[c].
// A row of the matrix is blocks * block numbers, of 4 bits two a byte, the first in the low half.
struct BlockProductParameters {
  void* result;
  const void* x;        // [rows, inner]
  const void* weights;  // [columns, blocks, bytes of a block]
  const void* scales;   // [columns, blocks]
  const void* zeros;    // null: the middle; packed like the matrix, or of the type Z
  const void* bias;     // null: none
  const void* added;    // of the result's shape; null: none
  long long rows;
  long long columns;
  long long inner;
  long long blocks;
  long long block;
  long long column_tiles;  // blocks of threads that make all columns of some rows
  long long zero_bytes;    // of a column, of packed zeros
  int foreseen;            // bytes of the matrix that a warp asks for early
  Divisor words;           // of 32 bits in which numbers of a row are
};

// Products of the same rows.
#define MOST_BLOCK_PRODUCTS 4
struct BlockGroupParameters {
  struct BlockProductParameters products[MOST_BLOCK_PRODUCTS];
  unsigned blocks[MOST_BLOCK_PRODUCTS];  // of threads, that make each of them
};
#endif
