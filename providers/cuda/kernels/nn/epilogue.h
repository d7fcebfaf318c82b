// SPDX-License-Identifier: Apache-2.0
// Parameters of the separate epilogue of a convolution.
#ifndef GANTRY_CUDA_EPILOGUE
#define GANTRY_CUDA_EPILOGUE
#include "kernels/index.h"
struct EpilogueParameters {
  void* result;       // read and written
  const void* bias;   // by channel; null: none
  const void* added;  // null: none
  long long count;
  Divisor channels;
  Divisor inner;  // channel stride in elements
  int has_relu;
  float most;  // of the Relu; 0: no bound
};
#endif
