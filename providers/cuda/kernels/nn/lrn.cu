// SPDX-License-Identifier: Apache-2.0
// LRN: x / (bias + factor * sum of squares over neighbouring channels) ^ exponent, one thread per
// element. Each sum is computed anew: a running sum would accumulate rounding errors. Index, T, C:
// given.
KERNEL(LrnParameters) {
  const i64 plane = p.plane.divisor;
  FOR_EACH(i, p.count) {
    const Index row = quotient(i, p.plane);
    const Index channel = row - quotient(row, p.channels) * (Index)p.channels.divisor;
    const i64 first = (i64)channel > p.before ? -p.before : -(i64)channel;
    const i64 behind = (i64)p.channels.divisor - 1 - (i64)channel;
    const i64 last = p.after < behind ? p.after : behind;
    const T* x = (const T*)p.source + i;
    C sum = 0;
    for (i64 k = first; k <= last; ++k) {
      const C value = (C)load(x[k * plane]);
      sum += value * value;
    }
    const C base = (C)p.bias + (C)p.factor * sum;
    // The usual exponent, 0.75, is two square roots.
    const C root = sqrt_(base);
    const C scale = p.exponent == 0.75 ? (C)1 / (root * sqrt_(root)) : pow_(base, -(C)p.exponent);
    ((T*)p.result)[i] = store<T>((C)load(*x) * scale);
  }
}
