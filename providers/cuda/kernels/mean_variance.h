// SPDX-License-Identifier: Apache-2.0
// Parameters of MeanVarianceNormalization.
#ifndef GANTRY_CUDA_MEAN_VARIANCE
#define GANTRY_CUDA_MEAN_VARIANCE
#include "index.h"
struct MeanVarianceParameters {
  void* result;
  const void* source;
  long long rows;    // numbers of the axes that are kept
  long long length;  // elements that have a mean in common
  Divisor row_extents[MOST_AXES];
  long long row_strides[MOST_AXES];
  Divisor extents[MOST_AXES];  // of a row
  long long strides[MOST_AXES];
  double epsilon;  // added to the deviation
};
#endif
