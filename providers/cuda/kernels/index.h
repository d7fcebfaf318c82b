// SPDX-License-Identifier: Apache-2.0
// Division by a precomputed multiplier and shift, for kernels that turn an index into coordinates.
// Shared by kernels and host, which fills it in.
#ifndef GANTRY_CUDA_INDEX
#define GANTRY_CUDA_INDEX
struct Divisor {
  unsigned divisor;
  unsigned multiplier;
  unsigned shift;
};

// A stride, which may be negative.
using Offset = long long;

#define MOST_AXES 8
#endif
