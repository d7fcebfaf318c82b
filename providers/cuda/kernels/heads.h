// SPDX-License-Identifier: Apache-2.0
// Parameters of bringing heads of queries, keys and values to where attention reads them.
#ifndef GANTRY_CUDA_HEADS
#define GANTRY_CUDA_HEADS
#include "attention.h"

// Heads of one tensor; no head: they stay where they are.
struct MovedHeads {
  const void* source;
  const void* bias;  // [heads, width], added; null: none
  void* target;
  HeadStrides from, to;
  int heads, width;
  int is_turned;  // by the angles of their places
  int is_placed;  // rows of the target are places in a cache, else tokens
};

struct HeadsParameters {
  struct MovedHeads parts[3];
  struct CachePlaces places;
  const long long* angles;  // rows of cosines and sines, [batch, length]; null: the places
  const void* cosines;      // [angle_rows, pairs]
  const void* sines;        // likewise
  long long angle_rows;
  long long capacity;  // rows of the cache
  long long blocks;    // tokens of all the batch times heads of all parts
  int length;          // tokens
  int pairs;           // elements of a head that are turned, halved
  int is_interleaved;  // pairs lie side by side
};
#endif
