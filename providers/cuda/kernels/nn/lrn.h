// SPDX-License-Identifier: Apache-2.0
// Parameters of LRN.
#ifndef GANTRY_CUDA_LRN
#define GANTRY_CUDA_LRN
#include "kernels/index.h"
struct LrnParameters {
  void* result;
  const void* source;  // [batch, channels, plane]
  long long count;
  Divisor plane, channels;
  long long before, after;  // channels before and after an element that are summed
  double factor;            // of the sum of squares
  double bias, exponent;
};
#endif
