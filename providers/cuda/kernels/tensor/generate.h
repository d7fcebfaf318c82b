// SPDX-License-Identifier: Apache-2.0
// Parameters of kernels whose results depend on element positions.
#ifndef GANTRY_CUDA_GENERATE
#define GANTRY_CUDA_GENERATE
struct GenerateParameters {
  void* result;
  const void* source;
  const void* values;  // of OneHot: off, on
  long long count;     // of results
  long long rows, columns;
  long long axis;      // extent of the axis
  long long inner;     // elements per step of the axis
  long long diagonal;  // index of the diagonal
  long long start_integer, step_integer;
  double start, step;
  int is_upper, is_exclusive, is_reversed;
};

struct TopKParameters {
  void* values;        // null: not wanted
  long long* numbers;  // likewise
  const void* source;
  long long rows, length, stride, k;
};
#endif
