// SPDX-License-Identifier: Apache-2.0
// Parameters of normalisations by groups of channels of tensors whose channels are innermost.
#ifndef GANTRY_CUDA_NORM_LAST
#define GANTRY_CUDA_NORM_LAST
#include "index.h"
// The tensor is [batch, places, channels].
struct LastNormParameters {
  void* result;
  const void* source;
  const void* scale;  // one for each channel, or for each group
  const void* shift;  // likewise
  void* partial;      // mean and squares of each channel, [batch, chunks, channels, 2]
  void* statistics;   // mean and inverse deviation, [batch, groups, 2]
  long long batch;
  long long places;
  long long channels;
  long long groups;
  long long chunks;  // of places, each a block's
  Divisor packs;     // of channels
  Divisor image;     // packs of an image
  Divisor group;     // channels of one
  int is_by_channel;
  float epsilon;
};
#endif
