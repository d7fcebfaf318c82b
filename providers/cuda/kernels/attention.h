// SPDX-License-Identifier: Apache-2.0
// Parameters of attention.
#ifndef GANTRY_CUDA_ATTENTION
#define GANTRY_CUDA_ATTENTION
// How the heads of a tensor [batch, heads, length, width] lie; the width is dense.
struct HeadStrides {
  long long batch, head, row;
};

// Where new keys stand among all of a row: each row at its own place in a cache, or behind a past.
struct CachePlaces {
  const int* last_keys;  // number of a row's last key, the new ones counted; null: `past` for all
  const int* total;  // keys of the longest row; null: `is_prompt` says what would follow from it
  int is_prompt;     // all keys are new and begin at place 0
  int past;          // number of the first new key
};

// What a mask says.
#define MASK_ADDED 0       // what is added to scores
#define MASK_KEEPS 1       // which keys are seen
#define MASK_FILTERS 2     // likewise, of integers; `filter` is added to the scores of the others
#define MASK_OF_LENGTHS 3  // how many keys are seen; likewise

struct AttentionParameters {
  void* result;
  const void* queries;
  const void* keys;
  const void* values;
  const void* past_keys;     // the first k_past keys, which lie by themselves
  const void* past_values;   // likewise
  const void* mask;          // null: none
  const void* added;         // to scores, beside the mask; null: nothing
  const long long* lengths;  // of the keys, by batch; null: all count
  void* partial;             // what blocks leave for others, or scores
  HeadStrides q, k, v, y;
  HeadStrides past_k, past_v;
  struct CachePlaces places;
  long long mask_batch, mask_head, mask_row;     // strides
  long long added_batch, added_head, added_row;  // likewise
  long long batch;
  int q_heads, kv_heads;
  int q_length, k_length;  // of keys, those of the past among them
  int width, v_width;
  int key_limit;  // keys that the mask reaches
  int k_past;     // keys in past_keys, 0: all are in `keys`
  int is_causal;
  int splits;       // shares of the keys of one query
  int left, right;  // of the window; -1: open
  float scale, softcap, filter;
};
#endif
