// SPDX-License-Identifier: Apache-2.0
// TensorScatter: writes new positions into a cache. Positions out of range are not written. Index,
// Word: given.
KERNEL(CacheParameters) {
  FOR_EACH(i, p.count) {
    const Index word = i % (Index)p.inner;
    const Index position = i / (Index)p.inner;
    const Index row = position / (Index)p.length;
    i64 at = (i64)(position - row * (Index)p.length);
    if (p.starts) at += p.starts[row / (Index)p.rows];
    if (p.is_circular) at = (at % p.capacity + p.capacity) % p.capacity;
    if (at < 0 || at >= p.capacity) continue;
    ((Word*)p.target)[((i64)row * p.capacity + at) * p.inner + word] = ((const Word*)p.update)[i];
  }
}
