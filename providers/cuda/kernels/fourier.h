// SPDX-License-Identifier: Apache-2.0
// Parameters of the passes of a discrete Fourier transform. Lines of `points` numbers, fewer than
// 2^31, lie as [outer, points, inner].
#ifndef GANTRY_CUDA_FOURIER
#define GANTRY_CUDA_FOURIER
#include "index.h"
struct FourierParameters {
  void* result;
  const void* source;
  const void* window;  // by the point, multiplied first; null: 1
  const void* turns;   // cosine and sine of each part of a turn
  long long count;     // of threads: [outer, kept, inner]
  long long points;
  long long radix;       // of this pass
  long long given;       // points that the source has; the others are 0
  long long frame_step;  // of the source: from a line to the next of the same batch
  long long batch_step;  // of the source
  Divisor inner, kept, frames;
  Divisor done;  // product of the radices of the passes before
  Divisor step;  // points / done / radix
};

struct TurnsParameters {
  void* result;
  long long points;
};
#endif
