// SPDX-License-Identifier: Apache-2.0
// Parameters of reductions.
#ifndef GANTRY_CUDA_REDUCE
#define GANTRY_CUDA_REDUCE
#include "kernels/index.h"
struct ReduceParameters {
  void* result;
  const void* source;
  long long kept_count;     // results
  long long reduced_count;  // reduced elements per result
  long long splits;         // blocks per result
  void* partial;            // accumulators [results, splits]
  Divisor kept_extents[MOST_AXES];
  long long kept_strides[MOST_AXES];
  Divisor reduced_extents[MOST_AXES];
  long long reduced_strides[MOST_AXES];
};
#endif
