// SPDX-License-Identifier: Apache-2.0
// Parameters of GridSample and AffineGrid.
#ifndef GANTRY_CUDA_GRID
#define GANTRY_CUDA_GRID
#include "kernels/index.h"
struct GridSampleParameters {
  void* result;        // [batch, channels, points]
  const void* source;  // [batch, channels, in]
  const void* grid;    // [batch, points, axes], the innermost axis first
  long long count;     // threads: [batch, groups, points]
  long long channels;
  long long each;   // channels per group; the last group may have fewer
  long long plane;  // elements of a channel
  long long in[MOST_AXES];
  Divisor points, groups;
};

struct AffineGridParameters {
  void* result;          // [batch, depth, height, width, axes]
  const void* matrices;  // [batch, axes, axes + 1]
  long long count;
  Divisor extents[3];  // depth (1 of two axes), height, width
};
#endif
