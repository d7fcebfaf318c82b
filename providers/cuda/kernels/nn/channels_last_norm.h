// SPDX-License-Identifier: Apache-2.0
// Parameters of InstanceNormalization and GroupNormalization of channels-last tensors.
#ifndef GANTRY_CUDA_CHANNELS_LAST_NORM
#define GANTRY_CUDA_CHANNELS_LAST_NORM
#include "kernels/index.h"
// The tensor is [batch, positions, channels].
struct ChannelsLastNormParameters {
  void* result;
  const void* source;
  const void* scale;  // one for each channel, or for each group
  const void* shift;  // likewise
  void* partial;      // mean and squares of each channel, [batch, chunks, channels, 2]
  void* statistics;   // mean and inverse deviation, [batch, groups, 2]
  long long batch;
  long long positions;
  long long channels;
  long long groups;
  long long chunks;  // of positions, one per block
  Divisor packs;     // of channels
  Divisor image;     // packs of an image
  Divisor group;     // channels of one
  int is_by_channel;
  float epsilon;
};
#endif
