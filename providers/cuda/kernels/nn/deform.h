// SPDX-License-Identifier: Apache-2.0
// Parameters of DeformConv's columns.
#ifndef GANTRY_CUDA_DEFORM
#define GANTRY_CUDA_DEFORM
#include "kernels/nn/window.h"
struct DeformParameters {
  struct WindowParameters window;  // of the convolution; its addresses are not used
  void* columns;                   // [images, channels, taps, positions]
  const void* source;              // [images, channels, in]
  const void* offsets;             // [images, groups, taps, axes, positions]
  const void* mask;                // [images, groups, taps, positions]; null: 1
  long long count;                 // threads: [images, groups, parts, taps, positions]
  long long group_channels;        // of a group of offsets
  long long each;                  // channels per part; the last part may have fewer
  Divisor positions, taps, parts, groups;
};
#endif
