// SPDX-License-Identifier: Apache-2.0
// Parameters of sums of products of two tensors, or of the elements of one, over any axes.
#ifndef GANTRY_CUDA_EINSUM
#define GANTRY_CUDA_EINSUM
#include "kernels/index.h"
struct EinsumParameters {
  void* result;
  const void* a;
  const void* b;
  long long kept_count;    // results
  long long summed_count;  // products that each is the sum of
  Divisor kept_extents[MOST_AXES];
  long long kept_a[MOST_AXES];
  long long kept_b[MOST_AXES];
  Divisor summed_extents[MOST_AXES];
  long long summed_a[MOST_AXES];
  long long summed_b[MOST_AXES];
};
#endif
