// SPDX-License-Identifier: Apache-2.0
// Parameters of random tensors.
#ifndef GANTRY_CUDA_RANDOM
#define GANTRY_CUDA_RANDOM
struct RandomParameters {
  void* result;        // null: not wanted
  void* mask;          // of Dropout: what is kept; null: not wanted
  const void* source;  // probabilities, or what Dropout drops of
  const void* number;  // of the run, from the device's memory; null: 0
  unsigned long long key;
  long long count;
  double offset,
      scale;  // of Dropout: the probability that an element goes, and what others grow by
  // Of Multinomial.
  long long classes, samples;
  double* sums;  // [rows, classes], of weights up to a class
};

struct RunNumberParameters {
  unsigned long long* runs;  // so far
  unsigned long long* number;
  unsigned long long first;
};
#endif
