// SPDX-License-Identifier: Apache-2.0
// Parameters of attention.
#ifndef GANTRY_CUDA_ATTENTION
#define GANTRY_CUDA_ATTENTION
// Strides of a tensor [batch, heads, length, width] in elements; the width is contiguous.
struct HeadStrides {
  long long batch, head, row;
};

// Positions of the new keys among all keys: per batch row in a cache, or behind the past.
struct CachePositions {
  const int* last_keys;  // index of each row's last key, new ones included; null: `past` for all
  const int* total;      // keys of the longest row; null: `is_prompt` is used instead
  int is_prompt;         // all keys are new and start at position 0
  int past;              // position of the first new key
};

// Kinds of masks.
#define MASK_ADDED 0       // added to the scores
#define MASK_KEEPS 1       // boolean: visible keys
#define MASK_FILTERS 2     // integers: visible keys; `filter` is added to the other scores
#define MASK_OF_LENGTHS 3  // number of visible keys; `filter` is added to the other scores

struct AttentionParameters {
  void* result;
  const void* queries;
  const void* keys;
  const void* values;
  const void* past_keys;     // the first k_past keys, in a tensor of their own
  const void* past_values;   // values of these keys
  const void* mask;          // null: none
  const void* added;         // added to the scores besides the mask; null: none
  const long long* lengths;  // valid keys per batch row; null: all
  void* partial;             // partial results of blocks, or scores
  HeadStrides q, k, v, y;
  HeadStrides past_k, past_v;
  struct CachePositions positions;
  long long mask_batch, mask_head, mask_row;     // strides
  long long added_batch, added_head, added_row;  // likewise
  long long batch;
  int q_heads, kv_heads;
  int q_length, k_length;  // k_length includes the past
  int width, v_width;
  int key_limit;  // extent of the mask along the keys
  int k_past;     // keys in past_keys; 0: all are in `keys`
  int is_causal;
  int splits;       // number of splits of the keys
  int left, right;  // window sizes; -1: unlimited
  float scale, softcap, filter;
};
#endif
