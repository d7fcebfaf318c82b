// SPDX-License-Identifier: Apache-2.0
// Parameters of products of matrices: result = alpha * a b + beta * c, for each of a batch.
#ifndef GANTRY_CUDA_PRODUCT
#define GANTRY_CUDA_PRODUCT
#include "index.h"
struct ProductParameters {
  void* result;
  const void* a;
  const void* b;
  const void* c;      // null: none
  const void* added;  // of the result's shape; null: none
  long long m, n, k;
  long long a_row, a_column;  // strides
  long long b_row, b_column;
  long long c_row, c_column;
  double alpha, beta;
  Divisor batch_extents[MOST_AXES];
  long long a_batch[MOST_AXES];
  long long b_batch[MOST_AXES];
  unsigned tiles_m, tiles_n;
  void* partial;  // of a few rows: what several blocks make of an element, [splits, m, n]
  int splits;     // shares of the inner axis
  int has_relu;   // what is below 0 becomes 0
  int foreseen;   // bytes of b that a block asks for before the kernel before has ended
};

// Products with one left factor.
#define MOST_PRODUCTS 4
struct ProductGroupParameters {
  struct ProductParameters products[MOST_PRODUCTS];  // of few rows, of tiles_n blocks each
};
#endif
