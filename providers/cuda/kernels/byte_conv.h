// SPDX-License-Identifier: Apache-2.0
// Parameters of convolutions of 8-bit numbers. Of `window` the members of the result, the source,
// the weights and the bias are not used, and those of the result's divisors only without tiles.
#ifndef GANTRY_CUDA_BYTE_CONV
#define GANTRY_CUDA_BYTE_CONV
#include "byte_result.h"
#include "window.h"
struct ByteConvParameters {
  struct ByteResult out;  // rows are channels
  struct WindowParameters window;
  const void* source;   // as the model has it, or [image, place, groups, channels of a group]
  const void* weights;  // as the model has them, or [channels, taps, channels of a group]
  // Of tiles: channels of a group as they lie, in numbers, and divisors of what a place and a tap
  // are told by.
  long long lies;
  Divisor lies_extent;
  Divisor places, out_2, out_1, kernel_2, kernel_1;
};
#endif
