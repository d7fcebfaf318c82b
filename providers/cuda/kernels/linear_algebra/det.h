// SPDX-License-Identifier: Apache-2.0
// Parameters of Det.
#ifndef GANTRY_CUDA_DET
#define GANTRY_CUDA_DET
struct DetParameters {
  void* result;
  const void* source;  // [count, size, size]
  double* scratch;     // as many elements as the source; unused by det_small.cu
  long long count;     // of matrices
  long long size;      // rows of each
};
#endif
