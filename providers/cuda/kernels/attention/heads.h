// SPDX-License-Identifier: Apache-2.0
// Parameters of heads.cu.
#ifndef GANTRY_CUDA_HEADS
#define GANTRY_CUDA_HEADS
#include "kernels/attention/attention.h"

// Heads of one tensor; 0 heads: the tensor is not moved.
struct MovedHeads {
  const void* source;
  const void* bias;  // [heads, width], added; null: none
  void* target;
  HeadStrides from, to;
  int heads, width;
  int is_rotated;  // whether the rotary embedding is applied
  int is_cached;   // whether rows of the target are positions in a cache; else tokens
};

struct HeadsParameters {
  struct MovedHeads parts[3];
  struct CachePositions positions;
  const long long* angles;  // rows of `cosines` and `sines`, [batch, length]; null: the positions
  const void* cosines;      // [angle_rows, pairs]
  const void* sines;        // likewise
  long long angle_rows;
  long long capacity;  // rows of the cache
  long long blocks;    // batch * tokens * heads of all parts
  int length;          // tokens
  int pairs;           // rotated pairs per head
  int is_interleaved;  // whether the elements of a pair are adjacent
};
#endif
