// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels that are generated for element-wise operators.
#ifndef GANTRY_CUDA_ELEMENTWISE
#define GANTRY_CUDA_ELEMENTWISE
#include "kernels/index.h"
#define MOST_OPERANDS 14

struct ElementwiseParameters {
  void* result;
  const void* operands[MOST_OPERANDS];
  long long count;                              // packs of elements
  Divisor extents[MOST_AXES];                   // of the result, in packs along the last axis
  long long strides[MOST_OPERANDS][MOST_AXES];  // in elements; along the last axis: of a pack
};
#endif
