// SPDX-License-Identifier: Apache-2.0
// Attention without a matrix of scores, as attention.cu, of heads that can be read VECTOR elements at
// a time: a thread makes the score of one key of a strip, so that all keys are on their way from
// memory at once, and then the threads share a strip's values, `lanes` of them a row. T of the
// tensors, M of the mask, C computed with; MASK_IS_BOOL, SPLITS, WIDTH and V_WIDTH (multiples
// of VECTOR, of at most STRIP of them): given.
#define STRIP 128

KERNEL(AttentionParameters) {
  typedef Pack<T, VECTOR> Part;
  __shared__ C query[WIDTH];
  __shared__ C scores[STRIP];
  __shared__ C room[32];
  __shared__ C parts[STRIP * VECTOR];
  const int thread = (int)threadIdx.x;
#if SPLITS
  const int split = (int)(blockIdx.x % p.splits);
  const unsigned number = blockIdx.x / p.splits;
#else
  const unsigned number = blockIdx.x;
#endif
  const int at = (int)(number % p.q_length);
  const int head = (int)(number / p.q_length % p.q_heads);
  const i64 batch = number / p.q_length / p.q_heads;
  const int kv_head = head / (p.q_heads / p.kv_heads);
  const T* q = (const T*)p.queries + batch * p.q.batch + head * p.q.head + at * p.q.row;
  const T* keys = (const T*)p.keys + batch * p.k.batch + kv_head * p.k.head;
  const T* values = (const T*)p.values + batch * p.v.batch + kv_head * p.v.head;
  const T* past_keys = (const T*)p.past_keys + batch * p.past_k.batch + kv_head * p.past_k.head;
  const T* past_values = (const T*)p.past_values + batch * p.past_v.batch + kv_head * p.past_v.head;
  const KeyRange range = keys_seen(p, batch, at);
  i64 begin = range.begin;
  i64 end = range.end;
#if SPLITS
  if (end < begin) end = begin;
  const i64 share = ((end - begin + p.splits - 1) / p.splits + STRIP - 1) / STRIP * STRIP;
  begin += split * share;
  if (begin + share < end) end = begin + share;
#endif
  const int lanes = V_WIDTH / VECTOR;
  const int groups = STRIP / lanes;
  const int group = thread / lanes;
  const int lane = thread % lanes;

  for (int i = thread; i < WIDTH; i += STRIP) query[i] = (C)load(q[i]) * (C)p.scale;
  __syncthreads();
  C sums[VECTOR];
#pragma unroll
  for (int j = 0; j < VECTOR; ++j) sums[j] = 0;
  C most = Limits<C>::below();
  C total = 0;
  for (i64 first = begin; first < end; first += STRIP) {
    const int strip = (int)(end - first < STRIP ? end - first : STRIP);
    C mine = Limits<C>::below();
    if (thread < strip) {
      const i64 key_number = first + thread;
      const Part* key = (const Part*)(key_number < p.k_past ? past_keys + key_number * p.past_k.row
                                                            : keys + (key_number - p.k_past) * p.k.row);
      C score = 0;
#pragma unroll 8
      for (int c = 0; c < WIDTH / VECTOR; ++c) {
        const Part part = key[c];
#pragma unroll
        for (int j = 0; j < VECTOR; ++j) score += query[c * VECTOR + j] * (C)load(part.at[j]);
      }
      mine = finished_score(p, score, batch, head, at, key_number);
    }
    const C now = larger(most, block_largest(mine, room));
    if (now == Limits<C>::below()) continue;  // all that was seen is masked; the same for every thread
    const C e = mine == Limits<C>::below() ? (C)0 : exp_(mine - now);
    scores[thread] = e;
    const C factor = most == Limits<C>::below() ? (C)0 : exp_(most - now);
    total = total * factor + block_sum(e, room);
    most = now;
#pragma unroll
    for (int j = 0; j < VECTOR; ++j) sums[j] *= factor;
    if (group >= groups) continue;
#pragma unroll 8
    for (int i = group; i < strip; i += groups) {
      const i64 key_number = first + i;
      const T* row = key_number < p.k_past ? past_values + key_number * p.past_v.row
                                           : values + (key_number - p.k_past) * p.v.row;
      const Part part = ((const Part*)row)[lane];
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) sums[j] += scores[i] * (C)load(part.at[j]);
    }
  }
  if (group < groups) {
#pragma unroll
    for (int j = 0; j < VECTOR; ++j) parts[group * V_WIDTH + lane * VECTOR + j] = sums[j];
  }
  __syncthreads();
#if SPLITS
  C* made = (C*)p.partial + (i64)blockIdx.x * (p.v_width + 2);
#else
  T* y = (T*)p.result + batch * p.y.batch + head * p.y.head + at * p.y.row;
#endif
  for (int d = thread; d < V_WIDTH; d += STRIP) {
    C sum = 0;
    for (int g = 0; g < groups; ++g) sum += parts[g * V_WIDTH + d];
#if SPLITS
    made[d] = sum;
#else
    y[d] = store<T>(total == 0 ? (C)0 : sum / total);
#endif
  }
#if SPLITS
  if (thread == 0) {
    made[p.v_width] = most;
    made[p.v_width + 1] = total;
  }
#endif
}
