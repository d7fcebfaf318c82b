// SPDX-License-Identifier: Apache-2.0
// Parameters of what is done to a result behind a convolution that could not do it itself.
#ifndef GANTRY_CUDA_EPILOGUE
#define GANTRY_CUDA_EPILOGUE
#include "index.h"
struct EpilogueParameters {
  void* result;       // read and written
  const void* bias;   // by channel; null: none
  const void* added;  // null: none
  long long count;
  Divisor channels;
  Divisor inner;  // elements between a channel and the next
  int has_relu;
  float most;  // of the Relu; 0: no bound
};
#endif
