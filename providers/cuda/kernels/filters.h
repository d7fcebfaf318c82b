// SPDX-License-Identifier: Apache-2.0
// Parameters of the weights that spectra are made with.
#ifndef GANTRY_CUDA_FILTERS
#define GANTRY_CUDA_FILTERS
#include "index.h"
// a0 - a1 cos(x) + a2 cos(2 x), where x goes through a turn.
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
  double first_mel, mel_step;  // where the bands begin, and how far apart
  double bins_per_hertz;
};
#endif
