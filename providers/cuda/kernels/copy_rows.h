// SPDX-License-Identifier: Apache-2.0
// Parameters of the copying of several tensors, each as rows of dense words.
#ifndef GANTRY_CUDA_COPY_ROWS
#define GANTRY_CUDA_COPY_ROWS
#include "index.h"
#define MOST_PARTS 16

struct RowsPart {
  void* target;
  const void* source;
  long long count;         // of words
  long long target_pitch;  // words from a row to the next
  long long source_pitch;
  Divisor row;          // words of a row
  unsigned last_block;  // behind those that copy this part and the ones before
};

struct RowsCopyParameters {
  RowsPart parts[MOST_PARTS];
};
#endif
