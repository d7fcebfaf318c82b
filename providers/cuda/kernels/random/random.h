// SPDX-License-Identifier: Apache-2.0
// Parameters of random tensors.
#ifndef GANTRY_CUDA_RANDOM
#define GANTRY_CUDA_RANDOM
struct RandomParameters {
  void* result;        // null: not wanted
  void* mask;          // Dropout: kept elements; null: not wanted
  const void* source;  // probabilities, or the input of Dropout
  const void* number;  // run counter in device memory; null: 0
  unsigned long long key;
  long long count;
  double offset,
      scale;  // Dropout: probability of dropping an element, and the factor of the others
  // Multinomial only.
  long long classes, samples;
  double* sums;  // [rows, classes], cumulative weights
};

struct RunCounterParameters {
  unsigned long long* runs;  // number of runs so far
  unsigned long long* number;
  unsigned long long first;
};
#endif
