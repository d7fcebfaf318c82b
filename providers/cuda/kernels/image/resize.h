// SPDX-License-Identifier: Apache-2.0
// Parameters of Resize.
#ifndef GANTRY_CUDA_RESIZE
#define GANTRY_CUDA_RESIZE
#include "kernels/index.h"
struct ResizeAxis {
  long long in, out;
  float scale;
  float exact_out;   // the extent before it was rounded
  float begin, end;  // region of interest (roi)
  int is_resized;
};

struct ResizeParameters {
  void* result;
  const void* source;
  long long count;
  Divisor extents[MOST_AXES];    // of the result
  long long strides[MOST_AXES];  // of the source
  struct ResizeAxis axes[MOST_AXES];
  float cubic_a;
  double outside;  // value for positions out of the source (extrapolation_value)
};

// Along one axis: [outer, in, inner] to [outer, out, inner].
struct ResizePassParameters {
  void* result;
  const void* source;
  long long count;  // of results
  Divisor out, inner;
  struct ResizeAxis axis;
  long long taps;
  float cubic_a;
  double stretch;  // scale of distances for antialiasing; at most 1
  double outside;
};
#endif
