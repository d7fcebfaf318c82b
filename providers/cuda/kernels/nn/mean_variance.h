// SPDX-License-Identifier: Apache-2.0
// Parameters of MeanVarianceNormalization.
#ifndef GANTRY_CUDA_MEAN_VARIANCE
#define GANTRY_CUDA_MEAN_VARIANCE
#include "kernels/index.h"
struct MeanVarianceParameters {
  void* result;
  const void* source;
  long long rows;    // number of rows
  long long length;  // elements per row, which share a mean
  Divisor row_extents[MOST_AXES];
  long long row_strides[MOST_AXES];
  Divisor extents[MOST_AXES];  // of a row
  long long strides[MOST_AXES];
  double epsilon;  // added to the standard deviation
};
#endif
