// SPDX-License-Identifier: Apache-2.0
// Division by an extent without dividing, for kernels that turn a number into coordinates. Part of
// the kernels' text and of the host's code, which fills it in.
#ifndef GANTRY_CUDA_INDEX
#define GANTRY_CUDA_INDEX
struct Divisor {
  unsigned divisor;
  unsigned multiplier;
  unsigned shift;
};

// A distance between elements, which can be negative.
using Offset = long long;

#define MOST_AXES 8
#endif
