// SPDX-License-Identifier: Apache-2.0
// Parameters of batched matmuls: result = alpha * a b + beta * c.
#ifndef GANTRY_CUDA_MATMUL
#define GANTRY_CUDA_MATMUL
#include "kernels/index.h"
struct MatmulParameters {
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
  void* partial;       // skinny GEMM with split-K: partial results [splits, m, n]
  int splits;          // number of splits of the inner axis
  int has_relu;        // whether a Relu follows
  int prefetch_bytes;  // bytes of b that a block prefetches before the preceding kernel has ended
};

// A group of matmuls with one left operand.
#define MOST_MATMULS 4
struct MatmulGroupParameters {
  struct MatmulParameters matmuls[MOST_MATMULS];  // each has tiles_n blocks
};
#endif
