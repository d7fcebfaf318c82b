// SPDX-License-Identifier: Apache-2.0
// Parameters of attention.
#ifndef GANTRY_CUDA_ATTENTION
#define GANTRY_CUDA_ATTENTION
// How the heads of a tensor [batch, heads, length, width] lie; the width is dense.
struct HeadStrides {
  long long batch, head, row;
};

struct AttentionParameters {
  void* result;
  const void* queries;
  const void* keys;
  const void* values;
  const void* past_keys;     // the first k_past keys, which lie by themselves
  const void* past_values;   // likewise
  const void* mask;          // null: none
  const long long* lengths;  // of the keys, by batch; null: all count
  void* partial;             // what blocks leave for others, or scores
  HeadStrides q, k, v, y;
  HeadStrides past_k, past_v;
  long long mask_batch, mask_head, mask_row;  // strides
  long long batch;
  int q_heads, kv_heads;
  int q_length, k_length;  // of keys, those of the past among them
  int width, v_width;
  int key_limit;  // keys that the mask reaches
  int past;       // number of the first query's key
  int k_past;     // keys in past_keys, 0: all are in `keys`
  int is_causal;
  int splits;       // shares of the keys of one query
  int left, right;  // of the window; -1: open
  float scale, softcap;
};
#endif
