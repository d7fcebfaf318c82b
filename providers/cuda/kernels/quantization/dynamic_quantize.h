// SPDX-License-Identifier: Apache-2.0
// Parameters of DynamicQuantizeLinear.
#ifndef GANTRY_CUDA_DYNAMIC_QUANTIZE
#define GANTRY_CUDA_DYNAMIC_QUANTIZE
struct DynamicQuantizeParameters {
  unsigned char* result;
  float* scale;         // null: not wanted
  unsigned char* zero;  // likewise
  const float* source;
  float* bounds;  // minimum and maximum per block, 0 included
  long long count;
  long long shares;
};
#endif
