// SPDX-License-Identifier: Apache-2.0
// Parameters of LinearAttention.
#ifndef GANTRY_CUDA_LINEAR_ATTENTION
#define GANTRY_CUDA_LINEAR_ATTENTION
struct LinearAttentionParameters {
  void* result;       // [batch, steps, heads * shared, values]
  void* present;      // [batch, heads, keys, values]; null: not wanted
  const void* query;  // [batch, steps, heads * shared, keys]
  const void* key;    // [batch, steps, heads, keys]
  const void* value;  // [batch, steps, heads, values]
  const void* past;   // as present; null: 0
  const void* decay;  // [batch, steps, heads, keys or 1]
  const void* beta;   // [batch, steps, heads or 1]
  long long blocks;   // thread blocks: [batch, heads, tiles]
  long long steps, heads, keys, values;
  long long shared;         // query heads per key head
  long long tiles;          // tiles of 32 value columns
  long long decays, betas;  // extents per step: heads * keys or heads; heads or 1
  float scale;
};
#endif
