// SPDX-License-Identifier: Apache-2.0
// A causal depthwise convolution over past and source; one thread per result and per element of the
// present state. Index, T, C, HAS_SILU: given.

// Element `at` of the concatenation of past and source.
inline C element(const CausalConvParameters& p, i64 row, i64 at) {
  const i64 before = p.taps - 1;
  if (at >= before) return (C)load(((const T*)p.source)[row * p.length + at - before]);
  return p.past ? (C)load(((const T*)p.past)[row * before + at]) : (C)0;
}

KERNEL(CausalConvParameters) {
  FOR_EACH(i, p.count) {
    const Index rest = quotient(i, p.positions);
    const i64 at = (i64)(i - rest * (Index)p.positions.divisor);
    const i64 row = (i64)rest;  // of [batch, channels]
    if (at >= p.length) {
      const i64 number = at - p.length;
      if (p.present) ((T*)p.present)[row * (p.taps - 1) + number] = store<T>(element(p, row, at));
      continue;
    }
    if (!p.result) continue;
    const i64 channel = row - (i64)quotient(rest, p.channels) * p.channels.divisor;
    C sum = p.bias ? (C)load(((const T*)p.bias)[channel]) : (C)0;
    for (i64 k = 0; k < p.taps; ++k)
      sum += (C)load(((const T*)p.weights)[channel * p.taps + k]) * element(p, row, at + k);
#if HAS_SILU
    sum = sum / ((C)1 + exp_(-sum));
#endif
    ((T*)p.result)[row * p.length + at] = store<T>(sum);
  }
}
