// SPDX-License-Identifier: Apache-2.0
// Common parts of attention.cu and attention_wide.cu, which store no matrix of scores (online
// softmax). A block of STRIP threads works on one query of one head or, with SPLITS, on a part of
// its keys, so that a few queries with many keys fill the device. It loads the keys in strips of
// STRIP. T of the tensors, C computed with: given.

// The query of a block and its range of keys [begin, end).
struct QueryShare {
  int at, head;
  i64 batch;
  i64 begin, end;
  const T* query;
  const T* keys;  // of the head, without those of the past
  const T* values;
  const T* past_keys;
  const T* past_values;
};

inline QueryShare share_of_block(const AttentionParameters& p) {
#if SPLITS
  const int split = (int)(blockIdx.x % p.splits);
  const unsigned number = blockIdx.x / p.splits;
#else
  const unsigned number = blockIdx.x;
#endif
  QueryShare share;
  share.at = (int)(number % p.q_length);
  share.head = (int)(number / p.q_length % p.q_heads);
  share.batch = number / p.q_length / p.q_heads;
  const i64 batch = share.batch;
  const int kv_head = share.head / (p.q_heads / p.kv_heads);
  share.query =
      (const T*)p.queries + batch * p.q.batch + share.head * p.q.head + share.at * p.q.row;
  share.keys = (const T*)p.keys + batch * p.k.batch + kv_head * p.k.head;
  share.values = (const T*)p.values + batch * p.v.batch + kv_head * p.v.head;
  share.past_keys = (const T*)p.past_keys + batch * p.past_k.batch + kv_head * p.past_k.head;
  share.past_values = (const T*)p.past_values + batch * p.past_v.batch + kv_head * p.past_v.head;
  const KeyRange range = keys_seen(p, batch, share.at);
  share.begin = range.begin;
  share.end = range.end;
#if SPLITS
  if (share.end < share.begin) share.end = share.begin;
  const i64 count = share.end - share.begin;
  const i64 each = ((count + p.splits - 1) / p.splits + STRIP - 1) / STRIP * STRIP;
  share.begin += split * each;
  if (share.begin + each < share.end) share.end = share.begin + each;
#endif
  return share;
}

// Key and value at an index; past ones come first.
inline const T* key_row(const AttentionParameters& p, const QueryShare& share, i64 number) {
  return number < p.k_past ? share.past_keys + number * p.past_k.row
                           : share.keys + (number - p.k_past) * p.k.row;
}
inline const T* value_row(const AttentionParameters& p, const QueryShare& share, i64 number) {
  return number < p.k_past ? share.past_values + number * p.past_v.row
                           : share.values + (number - p.k_past) * p.v.row;
}

// An online softmax: scores arrive strip by strip.
struct StripSoftmax {
  C most;   // the largest score so far
  C total;  // of exponentials of scores less `most`
};

// Adds a strip, of which each thread has one score: writes exp(score - maximum) to `weights` in
// shared memory, and returns the factor by which earlier sums are scaled. False, in all threads:
// all scores so far are masked.
inline bool take_strip(StripSoftmax& softmax, C score, C* weights, C* scratch, C& factor) {
  const C now = larger(softmax.most, block_largest(score, scratch));
  if (now == Limits<C>::below()) return false;
  const C weight = score == Limits<C>::below() ? (C)0 : exp_(score - now);
  weights[threadIdx.x] = weight;
  factor = softmax.most == Limits<C>::below() ? (C)0 : exp_(softmax.most - now);
  softmax.total =
      softmax.total * factor + block_sum(weight, scratch);  // a barrier behind the weights
  softmax.most = now;
  return true;
}

// Where a block writes its partial sums, followed by maximum and total of its softmax.
inline C* partial_of_block(const AttentionParameters& p) {
  return (C*)p.partial + (i64)blockIdx.x * (p.v_width + 2);
}
inline void store_softmax(const AttentionParameters& p, const StripSoftmax& softmax) {
  C* known = partial_of_block(p) + p.v_width;
  known[0] = softmax.most;
  known[1] = softmax.total;
}
inline T* result_of(const AttentionParameters& p, const QueryShare& share) {
  return (T*)p.result + share.batch * p.y.batch + share.head * p.y.head + share.at * p.y.row;
}
