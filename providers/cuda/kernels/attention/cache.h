// SPDX-License-Identifier: Apache-2.0
// Parameters of TensorScatter.
#ifndef GANTRY_CUDA_CACHE
#define GANTRY_CUDA_CACHE
// The cache is [samples * rows, capacity, inner], the update [samples * rows, length, inner], in
// words.
struct CacheParameters {
  void* target;
  const void* update;
  const long long* starts;  // first position, per sample; null: 0
  long long count;          // words of the update
  long long inner, length, capacity;
  long long rows;   // of a sample
  int is_circular;  // positions wrap around at the capacity
};
#endif
