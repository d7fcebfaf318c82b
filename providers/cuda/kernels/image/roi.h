// SPDX-License-Identifier: Apache-2.0
// Parameters of pooling over regions.
#ifndef GANTRY_CUDA_ROI
#define GANTRY_CUDA_ROI
#include "kernels/index.h"
struct RoiParameters {
  void* result;             // [regions, channels, rows, columns]
  const void* source;       // [batch, channels, height, width]
  const void* regions;      // [regions, 4]: left, top, right, bottom; of MaxRoiPool the image first
  const long long* images;  // of each region
  long long count;          // of results
  long long batch, height, width;
  long long samples;  // samples per bin and axis; 0: adaptive
  double scale;       // from the regions' units to pixels
  Divisor channels, rows, columns;
};
#endif
