// SPDX-License-Identifier: Apache-2.0
// Parameters of DeformConv's columns.
#ifndef GANTRY_CUDA_DEFORM
#define GANTRY_CUDA_DEFORM
#include "window.h"
struct DeformParameters {
  struct WindowParameters window;  // of the convolution; its addresses are not used
  void* columns;                   // [images, channels, taps, places]
  const void* source;              // [images, channels, in]
  const void* offsets;             // [images, groups, taps, axes, places]
  const void* mask;                // [images, groups, taps, places]; null: 1
  long long count;                 // of threads: [images, groups, parts, taps, places]
  long long group_channels;        // of a group of offsets
  long long each;                  // channels of a part, of which the last may have fewer
  Divisor places, taps, parts, groups;
};
#endif
