// SPDX-License-Identifier: Apache-2.0
// Parameters of a convolution of each channel by itself, channels innermost.
#ifndef GANTRY_CUDA_DEPTHWISE
#define GANTRY_CUDA_DEPTHWISE
#include "index.h"
struct DepthwiseParameters {
  void* result;
  const void* source;
  const void* weights;    // [places of the window, channels]
  const void* bias;       // null: none
  const void* added;      // of the result's shape; null: nothing
  unsigned count;         // of vectors of results
  Divisor parts;          // vectors of a place
  Divisor width, height;  // of the result
  int in_width, in_height;
  int stride_x, stride_y;
  int begin_x, begin_y;  // padding before
  int dilation_x, dilation_y;
  int has_relu;
  float most;  // of the Relu; 0: no bound
};
#endif
