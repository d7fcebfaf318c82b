// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels that give a block to each row.
#ifndef GANTRY_CUDA_ROWS
#define GANTRY_CUDA_ROWS
#include "index.h"
// Rows of `length` elements that lie `stride` apart; row r begins at r / stride * length * stride +
// r % stride.
struct SoftmaxParameters {
  void* result;
  const void* source;
  long long rows;
  long long length;
  long long stride;
  double order;  // of a norm
};

// Dense rows, normalised; element i of row r is scaled by number r % groups * per_group + i / run.
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
  long long skip_rows;  // rows of skip, which begin again behind the last
  long long shares;     // blocks of a row
  void* partial;        // mean and squares of each share, [rows, shares, 2]
  float epsilon;
};
#endif
