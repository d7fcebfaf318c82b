// SPDX-License-Identifier: Apache-2.0
// Softmax over rows of scores [batch, heads, queries, keys] in C, after mask and window; invisible
// keys become 0. One block per row. T of the result: given.
KERNEL(AttentionParameters) {
  __shared__ C scratch[32];
  const int at = (int)(blockIdx.x % p.q_length);
  const int head = (int)(blockIdx.x / p.q_length % p.q_heads);
  const i64 batch = blockIdx.x / p.q_length / p.q_heads;
  const KeyRange range = keys_seen(p, batch, at);
  C* scores = (C*)p.partial + (i64)blockIdx.x * p.k_length;
  T* result = (T*)p.result + (i64)blockIdx.x * p.k_length;
  C most = Limits<C>::below();
  for (i64 i = range.begin + threadIdx.x; i < range.end; i += blockDim.x) {
    scores[i] = finished_score(p, scores[i], batch, head, at, i);
    most = larger(most, scores[i]);
  }
  most = block_largest(most, scratch);
  C total = 0;
  for (i64 i = range.begin + threadIdx.x; i < range.end; i += blockDim.x)
    total += scores[i] == Limits<C>::below() ? (C)0 : exp_(scores[i] - most);
  total = block_sum(total, scratch);
  for (i64 i = threadIdx.x; i < p.k_length; i += blockDim.x) {
    const bool is_seen = i >= range.begin && i < range.end && scores[i] != Limits<C>::below();
    result[i] = store<T>(is_seen ? exp_(scores[i] - most) / total : (C)0);
  }
}
