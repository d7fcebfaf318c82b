// SPDX-License-Identifier: Apache-2.0
// Parameters of reductions.
#ifndef GANTRY_CUDA_REDUCE
#define GANTRY_CUDA_REDUCE
#include "index.h"
struct ReduceParameters {
  void* result;
  const void* source;
  long long kept_count;     // results
  long long reduced_count;  // elements that each is made of
  long long splits;         // blocks that share them
  void* partial;            // accumulators of each, [results, splits]
  Divisor kept_extents[MOST_AXES];
  long long kept_strides[MOST_AXES];
  Divisor reduced_extents[MOST_AXES];
  long long reduced_strides[MOST_AXES];
};
#endif
