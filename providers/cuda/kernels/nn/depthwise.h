// SPDX-License-Identifier: Apache-2.0
// Parameters of a depthwise convolution of channels-last tensors.
#ifndef GANTRY_CUDA_DEPTHWISE
#define GANTRY_CUDA_DEPTHWISE
#include "kernels/index.h"
struct DepthwiseParameters {
  void* result;
  const void* source;
  const void* weights;    // [taps, channels]
  const void* bias;       // null: none
  const void* added;      // of the result's shape; null: nothing
  unsigned count;         // of vectors of results
  Divisor parts;          // vectors per position
  Divisor width, height;  // of the result
  int in_width, in_height;
  int stride_x, stride_y;
  int begin_x, begin_y;  // padding before
  int dilation_x, dilation_y;
  int has_relu;
  float most;  // of the Relu; 0: no bound
};
#endif
