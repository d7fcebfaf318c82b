// SPDX-License-Identifier: Apache-2.0
// Parameters of the quantisation by a tensor's own range.
#ifndef GANTRY_CUDA_DYNAMIC_QUANTIZE
#define GANTRY_CUDA_DYNAMIC_QUANTIZE
struct DynamicQuantizeParameters {
  unsigned char* result;
  float* scale;         // null: not wanted
  unsigned char* zero;  // likewise
  const float* source;
  float* bounds;  // of each block's share: the least and the greatest, with 0 among them
  long long count;
  long long shares;
};
#endif
