// SPDX-License-Identifier: Apache-2.0
// Parameters of window functions and mel weights.
#ifndef GANTRY_CUDA_FILTERS
#define GANTRY_CUDA_FILTERS
#include "kernels/index.h"
// a0 - a1 cos(x) + a2 cos(2 x), where x runs from 0 to 2 pi.
struct CosineWindowParameters {
  void* result;
  long long count;
  float a0, a1, a2;
  float increment;  // of x
};

struct MelParameters {
  void* result;  // [bins, bands]
  long long count;
  Divisor bands;
  double first_mel, mel_step;  // start and spacing of the bands
  double bins_per_hertz;
};
#endif
