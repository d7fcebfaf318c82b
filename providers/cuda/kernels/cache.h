// SPDX-License-Identifier: Apache-2.0
// Parameters of the writing of new positions into a cache.
#ifndef GANTRY_CUDA_CACHE
#define GANTRY_CUDA_CACHE
// The cache is [samples * rows, capacity, inner], the update [samples * rows, length, inner], in
// words.
struct CacheParameters {
  void* target;
  const void* update;
  const long long* starts;  // position of the first, by sample; null: 0
  long long count;          // words of the update
  long long inner, length, capacity;
  long long rows;   // of a sample
  int is_circular;  // positions behind the end begin again at the front
};
#endif
