// SPDX-License-Identifier: Apache-2.0
// Parameters of the passes of a discrete Fourier transform of lines [outer, points, inner] with
// fewer than 2^31 points.
#ifndef GANTRY_CUDA_FOURIER
#define GANTRY_CUDA_FOURIER
#include "kernels/index.h"
struct FourierParameters {
  void* result;
  const void* source;
  const void* window;    // per point, multiplied first; null: 1
  const void* twiddles;  // twiddle factors: cosine and sine of 2 pi i / points
  long long count;       // threads: [outer, kept, inner]
  long long points;
  long long radix;       // of this pass
  long long given;       // points that the source has; the others are 0
  long long frame_step;  // of the source: between frames of a batch entry
  long long batch_step;  // of the source
  Divisor inner, kept, frames;
  Divisor done;  // product of the radices of the passes before
  Divisor step;  // points / done / radix
};

struct TwiddleParameters {
  void* result;
  long long points;
};
#endif
