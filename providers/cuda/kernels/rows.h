// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels that work by row.
#ifndef GANTRY_CUDA_ROWS
#define GANTRY_CUDA_ROWS
#include "kernels/index.h"
// Rows of `length` elements with a pitch of `stride`; row r begins at r / stride * length * stride
// + r % stride.
struct SoftmaxParameters {
  void* result;
  const void* source;
  long long rows;
  long long length;
  long long stride;
  double order;  // of a norm
};

// Normalisation of dense rows; element i of row r is scaled by element r % groups * per_group + i /
// run of `scale`.
struct NormParameters {
  void* result;
  const void* source;
  const void* skip;   // added first; null: none
  const void* bias;   // likewise, one for each element of a row
  const void* scale;  // null: 1
  const void* shift;  // null: 0
  void* sum;          // of source, skip and bias; null: not wanted
  void* mean;         // by row; null: not wanted
  void* deviation;    // inverse, by row; null: not wanted
  long long rows;
  long long length;
  long long groups;
  long long per_group;
  Divisor run;
  long long skip_rows;  // rows of skip, repeated cyclically
  long long shares;     // blocks per row
  void* partial;        // mean and squared deviations, [rows, shares, 2]
  float epsilon;
};
#endif
