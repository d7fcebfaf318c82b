// SPDX-License-Identifier: Apache-2.0
// Parameters of int8 convolutions. The addresses in `window` are unused; its divisors are used only
// without tiles.
#ifndef GANTRY_CUDA_INT8_CONV
#define GANTRY_CUDA_INT8_CONV
#include "kernels/nn/window.h"
#include "kernels/quantization/int8_epilogue.h"
struct Int8ConvParameters {
  struct Int8Epilogue out;  // rows are channels
  struct WindowParameters window;
  const void* source;   // as in the model, or [image, position, groups, channels of a group]
  const void* weights;  // as in the model, or [channels, taps, channels of a group]
  // Tiles only: padded channels of a group, and divisors that yield position and tap from an index.
  long long padded_channels;
  Divisor padded_channels_divisor;
  Divisor positions, out_2, out_1, kernel_2, kernel_1;
};
#endif
