// SPDX-License-Identifier: Apache-2.0
// Split reduction of attention_strips.cu: merges the partial results of the blocks of a query. One
// block per query. T, C: given.
KERNEL(AttentionParameters) {
  const int at = (int)(blockIdx.x % p.q_length);
  const int head = (int)(blockIdx.x / p.q_length % p.q_heads);
  const i64 batch = blockIdx.x / p.q_length / p.q_heads;
  const i64 size = p.v_width + 2;  // sums, the largest score, the sum of exponentials
  const C* parts = (const C*)p.partial + blockIdx.x * p.splits * size;
  C most = Limits<C>::below();
  for (int s = 0; s < p.splits; ++s) most = larger(most, parts[s * size + p.v_width]);
  C total = 0;
  for (int s = 0; s < p.splits; ++s) {
    const C own = parts[s * size + p.v_width];
    if (own != Limits<C>::below()) total += parts[s * size + p.v_width + 1] * exp_(own - most);
  }
  T* y = (T*)p.result + batch * p.y.batch + head * p.y.head + at * p.y.row;
  for (int d = threadIdx.x; d < p.v_width; d += blockDim.x) {
    C sum = 0;
    for (int s = 0; s < p.splits; ++s) {
      const C own = parts[s * size + p.v_width];
      if (own != Limits<C>::below()) sum += parts[s * size + d] * exp_(own - most);
    }
    y[d] = store<T>(total == 0 ? (C)0 : sum / total);
  }
}
