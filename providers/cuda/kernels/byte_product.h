// SPDX-License-Identifier: Apache-2.0
// Parameters of products of matrices of 8-bit numbers, for each of a batch.
#ifndef GANTRY_CUDA_BYTE_PRODUCT
#define GANTRY_CUDA_BYTE_PRODUCT
#include "byte_result.h"
#include "index.h"
struct ByteProductParameters {
  struct ByteResult out;
  const void* a;
  const void* b;
  long long m, n, k;
  long long a_row, a_inner;     // strides
  long long b_column, b_inner;  // likewise
  Divisor batch_extents[MOST_AXES];
  long long a_batch[MOST_AXES];
  long long b_batch[MOST_AXES];
  unsigned tiles_m, tiles_n;
};

// Of a tensor [outer, channels, places] that becomes [outer, places, groups, channels of a group],
// of which `filled` zeros follow, as signed numbers.
struct ByteTurnParameters {
  void* result;
  const void* source;
  long long outer, places;
  long long groups, channels;  // channels of a group
  long long words;             // of the channels of a place, all groups and what is filled up
  long long group_words;
  unsigned tiles_places, tiles_words;
};
#endif
