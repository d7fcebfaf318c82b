// SPDX-License-Identifier: Apache-2.0
// Copies values to a dense [batch, heads, keys, width] for a matmul over all keys; values behind a
// row's last key become 0. One block per strip of KEYS of a head. T: given.
KERNEL(AttentionParameters) {
  const i64 strips = (p.k_length + KEYS - 1) / KEYS;
  const i64 first = blockIdx.x % strips * KEYS;
  const i64 head = blockIdx.x / strips % p.kv_heads;
  const i64 batch = blockIdx.x / strips / p.kv_heads;
  const T* source = (const T*)p.values + batch * p.v.batch + head * p.v.head;
  T* target = (T*)p.result + (batch * p.kv_heads + head) * p.k_length * p.v_width;
  const i64 filled = filled_keys(p, batch);
  const int rows = (int)(p.k_length - first < KEYS ? p.k_length - first : KEYS);
  for (int i = threadIdx.x; i < rows * p.v_width; i += blockDim.x) {
    const i64 key = first + i / p.v_width;
    const int at = i % p.v_width;
    target[key * p.v_width + at] = key < filled ? source[key * p.v.row + at] : store<T>((C)0);
  }
}
