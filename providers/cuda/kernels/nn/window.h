// SPDX-License-Identifier: Apache-2.0
// Parameters of convolutions and pooling over up to three spatial axes; missing axes come first and
// have the extent 1.
#ifndef GANTRY_CUDA_WINDOW
#define GANTRY_CUDA_WINDOW
#include "kernels/index.h"
struct WindowParameters {
  void* result;
  const void* source;
  const void* weights;
  const void* bias;    // null: none
  long long* indices;  // of MaxPool; null: not wanted
  long long count;     // of results
  long long batch;
  long long channels;  // of the source
  long long result_channels;
  long long group;
  long long in[3];
  long long out[3];
  long long kernel[3];
  long long stride[3];
  long long dilation[3];
  long long begin[3];          // padding before
  long long end[3];            // padding after
  long long order;             // of a norm
  long long tiles_m, tiles_n;  // tiles of channels and positions of a convolution
  // Divisors of `out` and `result_channels`, for kernels with one thread per result.
  Divisor out_extents[3];
  Divisor result_channel_extent;
  int counts_padding;
  int is_column_major;                 // of indices
  int is_source_last, is_result_last;  // of pooling: whether tensors are channels-last
};
#endif
