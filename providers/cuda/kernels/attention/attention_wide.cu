// SPDX-License-Identifier: Apache-2.0
// Attention by strips of keys (attention_strips.cu) with vector loads of VECTOR elements: each
// thread computes the score of one key, so that all keys of a strip are loaded concurrently; then
// the threads share the strip's values, `lanes` of them per row. T of the tensors, M of the mask, C
// computed with; MASK_IS_BOOL, SPLITS, STRIP, WIDTH and V_WIDTH (multiples of VECTOR, of at most
// STRIP of them): given.
KERNEL(AttentionParameters) {
  typedef Pack<T, VECTOR> Part;
  __shared__ C query[WIDTH];
  __shared__ C scores[STRIP];
  __shared__ C scratch[32];
  __shared__ C parts[STRIP * VECTOR];
  const int thread = (int)threadIdx.x;
  const int lanes = V_WIDTH / VECTOR;
  const int groups = STRIP / lanes;
  const int group = thread / lanes;
  const int lane = thread % lanes;
  const QueryShare share = share_of_block(p);
  for (int i = thread; i < WIDTH; i += STRIP) query[i] = (C)load(share.query[i]) * (C)p.scale;
  __syncthreads();
  C sums[VECTOR];
#pragma unroll
  for (int j = 0; j < VECTOR; ++j) sums[j] = 0;
  StripSoftmax softmax = {Limits<C>::below(), 0};
  for (i64 first = share.begin; first < share.end; first += STRIP) {
    const int strip = (int)(share.end - first < STRIP ? share.end - first : STRIP);
    C mine = Limits<C>::below();
    if (thread < strip) {
      const i64 number = first + thread;
      const Part* key = (const Part*)key_row(p, share, number);
      C score = 0;
#pragma unroll 8
      for (int c = 0; c < WIDTH / VECTOR; ++c) {
        const Part part = key[c];
#pragma unroll
        for (int j = 0; j < VECTOR; ++j) score += query[c * VECTOR + j] * (C)load(part.at[j]);
      }
      mine = finished_score(p, score, share.batch, share.head, share.at, number);
    }
    C factor;
    if (!take_strip(softmax, mine, scores, scratch, factor)) continue;
#pragma unroll
    for (int j = 0; j < VECTOR; ++j) sums[j] *= factor;
    if (group >= groups) continue;
#pragma unroll 8
    for (int i = group; i < strip; i += groups) {
      const Part part = ((const Part*)value_row(p, share, first + i))[lane];
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
  C* sums_to = partial_of_block(p);
  if (thread == 0) store_softmax(p, softmax);
#else
  T* y = result_of(p, share);
#endif
  for (int d = thread; d < V_WIDTH; d += STRIP) {
    C sum = 0;
    for (int g = 0; g < groups; ++g) sum += parts[g * V_WIDTH + d];
#if SPLITS
    sums_to[d] = sum;
#else
    y[d] = store<T>(softmax.total == 0 ? (C)0 : sum / softmax.total);
#endif
  }
}
