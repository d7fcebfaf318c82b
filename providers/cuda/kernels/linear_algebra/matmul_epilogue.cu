// SPDX-License-Identifier: Apache-2.0
// The epilogue of a matmul, for one element. T of the result, C computed with, GELU (0: none, 1:
// tanh approximation, 2: erf): given.
inline C activated(const MatmulParameters& p, C value) {
  if (p.has_relu && value < (C)0) value = 0;
#if GELU == 1
  value = (C)0.5 * value *
          ((C)1 + tanh_((C)0.79788456080286535588 * (value + (C)0.044715 * value * value * value)));
#elif GELU == 2
  value = (C)0.5 * value * ((C)1 + erf_(value * (C)0.70710678118654752440));
#endif
  return value;
}

inline void write_element(const MatmulParameters& p, i64 batch, i64 m, i64 n, C value) {
  if (p.alpha != 1) value = (C)(value * (C)p.alpha);
  if (p.c)
    value += (C)(p.beta == 1 ? (C)1 : (C)p.beta) *
             (C)load(((const T*)p.c)[m * p.c_row + n * p.c_column]);
  const i64 at = (batch * p.m + m) * p.n + n;
  if (p.added) value += (C)load(((const T*)p.added)[at]);
  ((T*)p.result)[at] = store<T>(activated(p, value));
}
