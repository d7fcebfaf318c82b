// SPDX-License-Identifier: Apache-2.0
// Parameters of what becomes of a sum of products of 8-bit numbers, row m of the left factor with
// column n of the right one.
#ifndef GANTRY_CUDA_BYTE_RESULT
#define GANTRY_CUDA_BYTE_RESULT
struct ByteResult {
  void* result;
  // Zero points, of the type of their factor, and their steps: 0 of a single one. Null: 0.
  const void* left_zero;
  const void* right_zero;
  long long left_zero_step, right_zero_step;
  // Of sums that become floats; null: 1.
  const float* left_scale;
  const float* right_scale;
  long long left_scale_step, right_scale_step;
  const void* bias;         // floats, or with ADDS_INTEGERS or a scale i32; null: none
  const float* bias_scale;  // of a bias of i32
  long long bias_row_step, bias_column_step, bias_scale_step;
  float least, most;  // bounds of the floats
  // Of floats that become 8 bits.
  const float* result_scale;
  const void* result_zero;      // null: 0
  long long result_scale_step;  // by row
  long long depth;              // products in a sum
  // With IS_SHARED several blocks make a sum of so many products each, by `blocks` for a share.
  unsigned* partial;  // zeros, then sums, as the result lies
  long long share;
  unsigned blocks;
};

struct ByteJoinParameters {
  struct ByteResult out;
  long long count;
  long long rows, columns;  // of the result, whose rows may be channels with places behind them
};
#endif
