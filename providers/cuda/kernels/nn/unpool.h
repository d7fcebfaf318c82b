// SPDX-License-Identifier: Apache-2.0
// Parameters of MaxUnpool.
#ifndef GANTRY_CUDA_UNPOOL
#define GANTRY_CUDA_UNPOOL
#include "kernels/index.h"
struct UnpoolParameters {
  void* result;
  const void* source;
  const long long* positions;  // of each element of the source, in a dense tensor of `pooled`
  long long count;             // of elements of the source
  long long position_count;    // of elements of `pooled`
  long long pooled[MOST_AXES];
  long long extents[MOST_AXES];  // of the result
};
#endif
