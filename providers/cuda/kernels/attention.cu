// SPDX-License-Identifier: Apache-2.0
// Attention without a matrix of scores: a block of 128 threads works on one query of one head, or, if
// SPLITS, on a share of its keys, so that a few queries of many keys fill a device. It
// goes through the keys in strips of 128 with the largest score and the sum of exponentials so far,
// by which what was summed before is scaled whenever a larger score comes. T of the tensors, M of
// the mask, C computed with; MASK_IS_BOOL, MOST_WIDTH (a multiple of 128): given.
#define STRIP 128

KERNEL(AttentionParameters) {
  __shared__ C query[MOST_WIDTH];
  __shared__ C scores[STRIP];
  __shared__ C room[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
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

  for (int i = threadIdx.x; i < p.width; i += 128) query[i] = (C)load(q[i]) * (C)p.scale;
  C sums[MOST_WIDTH / 128];
#pragma unroll
  for (int i = 0; i < MOST_WIDTH / 128; ++i) sums[i] = 0;
  C most = Limits<C>::below();
  C total = 0;
  for (i64 first = begin; first < end; first += STRIP) {
    const int strip = (int)(end - first < STRIP ? end - first : STRIP);
    __syncthreads();
    for (int i = warp; i < strip; i += 4) {
      const i64 number = first + i;
      const T* key = number < p.k_past ? past_keys + number * p.past_k.row : keys + (number - p.k_past) * p.k.row;
      C score = 0;
      for (int d = lane; d < p.width; d += 32) score += query[d] * (C)load(key[d]);
      for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffffu, score, step);
      if (lane == 0) scores[i] = finished_score(p, score, batch, head, at, first + i);
    }
    __syncthreads();
    const C mine = (int)threadIdx.x < strip ? scores[threadIdx.x] : Limits<C>::below();
    const C now = larger(most, block_largest(mine, room));
    if (now == Limits<C>::below()) continue;  // all that was seen is masked; the same for every thread
    const C e = mine == Limits<C>::below() ? (C)0 : exp_(mine - now);
    if ((int)threadIdx.x < strip) scores[threadIdx.x] = e;
    const C factor = most == Limits<C>::below() ? (C)0 : exp_(most - now);
    total = total * factor + block_sum(e, room);
    most = now;
    for (int part = 0; part < MOST_WIDTH / 128; ++part) {
      const int d = part * 128 + threadIdx.x;
      if (d >= p.v_width) continue;
      C sum = sums[part] * factor;
      // Those of the past, then the others: the same number of both for every thread.
      const i64 left = p.k_past - first;
      const int split_at = (int)(left < 0 ? 0 : left < strip ? left : strip);
      const T* from = past_values + first * p.past_v.row + d;
      for (int i = 0; i < split_at; ++i) sum += scores[i] * (C)load(from[i * p.past_v.row]);
      from = values + (first - p.k_past) * p.v.row + d;
      for (int i = split_at; i < strip; ++i) sum += scores[i] * (C)load(from[i * p.v.row]);
      sums[part] = sum;
    }
  }
#if SPLITS
  C* made = (C*)p.partial + (i64)blockIdx.x * (p.v_width + 2);
  for (int part = 0; part < MOST_WIDTH / 128; ++part) {
    const int d = part * 128 + threadIdx.x;
    if (d < p.v_width) made[d] = sums[part];
  }
  if (threadIdx.x == 0) {
    made[p.v_width] = most;
    made[p.v_width + 1] = total;
  }
#else
  T* y = (T*)p.result + batch * p.y.batch + head * p.y.head + at * p.y.row;
  for (int part = 0; part < MOST_WIDTH / 128; ++part) {
    const int d = part * 128 + threadIdx.x;
    if (d < p.v_width) y[d] = store<T>(total == 0 ? (C)0 : sums[part] / total);
  }
#endif
}
