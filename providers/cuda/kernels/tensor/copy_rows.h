// SPDX-License-Identifier: Apache-2.0
// Parameters of several 2-D copies in one launch.
#ifndef GANTRY_CUDA_COPY_ROWS
#define GANTRY_CUDA_COPY_ROWS
#include "kernels/index.h"
#define MOST_PARTS 16

struct RowsPart {
  void* target;
  const void* source;
  long long count;         // of words
  long long target_pitch;  // row pitch in words
  long long source_pitch;
  Divisor row;          // words of a row
  unsigned last_block;  // end of the block range of this part
};

struct RowsCopyParameters {
  RowsPart parts[MOST_PARTS];
};
#endif
