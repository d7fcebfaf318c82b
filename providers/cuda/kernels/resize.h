// SPDX-License-Identifier: Apache-2.0
// Parameters of Resize.
#ifndef GANTRY_CUDA_RESIZE
#define GANTRY_CUDA_RESIZE
#include "index.h"
struct ResizeParameters {
  void* result;
  const void* source;
  long long count;
  Divisor extents[MOST_AXES];    // of the result
  long long strides[MOST_AXES];  // of the source
  long long in[MOST_AXES];
  long long out[MOST_AXES];
  float scale[MOST_AXES];
  float exact_out[MOST_AXES];  // the extent before it was rounded
  int is_resized[MOST_AXES];
  float cubic_a;
};
#endif
