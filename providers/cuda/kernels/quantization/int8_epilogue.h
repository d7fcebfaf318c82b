// SPDX-License-Identifier: Apache-2.0
// Parameters of the epilogue of an int8 matmul: the sum of row m of the left operand and column n
// of the right one.
#ifndef GANTRY_CUDA_INT8_EPILOGUE
#define GANTRY_CUDA_INT8_EPILOGUE
struct Int8Epilogue {
  void* result;
  // Zero points, of the operand's type, and their steps: 0 for a single one. Null: 0.
  const void* left_zero;
  const void* right_zero;
  long long left_zero_step, right_zero_step;
  // Scales for sums that become floats; null: 1.
  const float* left_scale;
  const float* right_scale;
  long long left_scale_step, right_scale_step;
  const void* bias;         // floats, or with ADDS_INTEGERS or a scale i32; null: none
  const float* bias_scale;  // scale of an i32 bias
  long long bias_row_step, bias_column_step, bias_scale_step;
  float least, most;  // bounds of the floats (Relu, Clip)
  // Quantisation of floats.
  const float* result_scale;
  const void* result_zero;      // null: 0
  long long result_scale_step;  // by row
  long long depth;              // terms of a sum
  // With IS_SPLIT: split-K; terms per split, and blocks per split.
  unsigned* partial;  // partial sums in the layout of the result, initially 0
  long long share;
  unsigned blocks;
};

struct Int8ReductionParameters {
  struct Int8Epilogue out;
  long long count;
  long long rows, columns;  // of the result; rows of a convolution are channels
};
#endif
