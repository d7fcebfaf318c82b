// SPDX-License-Identifier: Apache-2.0
// Parameters of the rotary embedding.
#ifndef GANTRY_CUDA_ROTARY
#define GANTRY_CUDA_ROTARY
#include "kernels/index.h"
struct RotaryParameters {
  void* result;
  const void* source;         // [batch, length, heads, width] by the strides; the width is dense
  const void* cosines;        // [cache_rows, pairs]
  const void* sines;          // likewise
  const long long* position;  // [batch, length]; null: the caches are [batch, length, pairs]
  long long count;            // of elements
  Divisor items;              // per head: pairs, then copied elements
  Divisor heads, length;
  long long width;
  long long pairs;                                    // rotated pairs
  long long cache_rows;                               // of the caches
  long long batch_stride, token_stride, head_stride;  // of source and result
  int is_interleaved;
  int is_offset;  // `position` has one element, the position of the first token
};
#endif
