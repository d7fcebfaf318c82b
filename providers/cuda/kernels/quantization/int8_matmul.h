// SPDX-License-Identifier: Apache-2.0
// Parameters of batched int8 matmuls.
#ifndef GANTRY_CUDA_INT8_MATMUL
#define GANTRY_CUDA_INT8_MATMUL
#include "kernels/index.h"
#include "kernels/quantization/int8_epilogue.h"
struct Int8MatmulParameters {
  struct Int8Epilogue out;
  const void* a;
  const void* b;
  long long m, n, k;
  long long a_row, a_inner;     // strides
  long long b_column, b_inner;  // likewise
  Divisor batch_extents[MOST_AXES];
  long long a_batch[MOST_AXES];
  long long b_batch[MOST_AXES];
  unsigned tiles_m, tiles_n;
};

// Transpose of [outer, groups * channels, positions] to signed [outer, positions, groups,
// group_words * 4], each group being padded with zeros.
struct Int8TransposeParameters {
  void* result;
  const void* source;
  long long outer, positions;
  long long groups, channels;  // channels of a group
  long long words;             // 32-bit words per position: all groups, padding included
  long long group_words;       // 32-bit words of a group, padding included
  unsigned tiles_positions, tiles_words;
};
#endif
