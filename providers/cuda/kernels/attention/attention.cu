// SPDX-License-Identifier: Apache-2.0
// Attention by strips of keys (attention_strips.cu), heads of any width: a warp computes the score
// of a key, and each thread sums a column of the values. T of the tensors, M of the mask, C
// computed with; MASK_IS_BOOL, SPLITS, STRIP, MOST_WIDTH (a multiple of STRIP): given.
KERNEL(AttentionParameters) {
  __shared__ C query[MOST_WIDTH];
  __shared__ C scores[STRIP];
  __shared__ C scratch[32];
  const int thread = (int)threadIdx.x;
  const int lane = thread % 32;
  const int warp = thread / 32;
  const QueryShare share = share_of_block(p);
  for (int i = thread; i < p.width; i += STRIP) query[i] = (C)load(share.query[i]) * (C)p.scale;
  C sums[MOST_WIDTH / STRIP];
#pragma unroll
  for (int i = 0; i < MOST_WIDTH / STRIP; ++i) sums[i] = 0;
  StripSoftmax softmax = {Limits<C>::below(), 0};
  for (i64 first = share.begin; first < share.end; first += STRIP) {
    const int strip = (int)(share.end - first < STRIP ? share.end - first : STRIP);
    __syncthreads();
    for (int i = warp; i < strip; i += STRIP / 32) {
      const T* key = key_row(p, share, first + i);
      C score = 0;
      for (int d = lane; d < p.width; d += 32) score += query[d] * (C)load(key[d]);
      for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffffu, score, step);
      if (lane == 0)
        scores[i] = finished_score(p, score, share.batch, share.head, share.at, first + i);
    }
    __syncthreads();
    const C mine = thread < strip ? scores[thread] : Limits<C>::below();
    C factor;
    if (!take_strip(softmax, mine, scores, scratch, factor)) continue;
    for (int part = 0; part < MOST_WIDTH / STRIP; ++part) {
      const int d = part * STRIP + thread;
      if (d >= p.v_width) continue;
      C sum = sums[part] * factor;
      // Past values, then the others: every thread has the same number of both.
      const i64 left = p.k_past - first;
      const int split_at = (int)(left < 0 ? 0 : left < strip ? left : strip);
      const T* from = share.past_values + first * p.past_v.row + d;
      for (int i = 0; i < split_at; ++i) sum += scores[i] * (C)load(from[i * p.past_v.row]);
      from = share.values + (first - p.k_past) * p.v.row + d;
      for (int i = split_at; i < strip; ++i) sum += scores[i] * (C)load(from[i * p.v.row]);
      sums[part] = sum;
    }
  }
#if SPLITS
  C* sums_to = partial_of_block(p);
  if (thread == 0) store_softmax(p, softmax);
#else
  T* y = result_of(p, share);
#endif
  for (int part = 0; part < MOST_WIDTH / STRIP; ++part) {
    const int d = part * STRIP + thread;
    if (d >= p.v_width) continue;
#if SPLITS
    sums_to[d] = sums[part];
#else
    y[d] = store<T>(softmax.total == 0 ? (C)0 : sums[part] / softmax.total);
#endif
  }
}
