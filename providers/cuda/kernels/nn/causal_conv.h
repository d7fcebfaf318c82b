// SPDX-License-Identifier: Apache-2.0
// Parameters of CausalConvWithState.
#ifndef GANTRY_CUDA_CAUSAL_CONV
#define GANTRY_CUDA_CAUSAL_CONV
#include "kernels/index.h"
struct CausalConvParameters {
  void* result;         // [batch, channels, length]; null: not wanted
  void* present;        // [batch, channels, taps - 1]; null: not wanted
  const void* source;   // [batch, channels, length]
  const void* weights;  // [channels, 1, taps]
  const void* bias;     // by channel; null: none
  const void* past;     // [batch, channels, taps - 1]; null: 0
  long long count;      // of results and of what is present
  long long length, taps;
  Divisor positions;  // length + taps - 1
  Divisor channels;
};
#endif
