// SPDX-License-Identifier: Apache-2.0
// Parameters of the turning of heads by the angles of their places.
#ifndef GANTRY_CUDA_ROTARY
#define GANTRY_CUDA_ROTARY
#include "index.h"
struct RotaryParameters {
  void* result;
  const void* source;      // [batch, length, heads, width] by the strides; the width is dense
  const void* cosines;     // [places, pairs]
  const void* sines;       // likewise
  const long long* place;  // [batch, length]; null: the caches are by batch and token themselves
  long long count;         // of elements
  Divisor items;           // of a head: pairs, then what is copied
  Divisor heads, length;
  long long width;
  long long pairs;                                    // that are turned
  long long cache_rows;                               // of the caches
  long long batch_stride, token_stride, head_stride;  // of source and result
  int is_interleaved;
  int is_offset;  // place is the number of the first token, for all
};
#endif
