// SPDX-License-Identifier: Apache-2.0
// The epilogue of a matmul, for a chunk of eight elements of a row. T of the result: given.
inline void write_vector(const MatmulParameters& p, i64 batch, i64 m, i64 n, const float* values) {
  typedef Pack<T, 8> Part;
  const i64 at = (batch * p.m + m) * p.n + n;
  Part added, bias;
  if (p.added) added = *(const Part*)((const T*)p.added + at);
  const bool has_row = p.c && p.c_column == 1 && p.c_row % 8 == 0;
  if (has_row) bias = *(const Part*)((const T*)p.c + m * p.c_row + n);
  Part result;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float value = values[j];
    if (p.alpha != 1) value *= (float)p.alpha;
    if (p.c) {
      const T c = has_row ? bias.at[j] : ((const T*)p.c)[m * p.c_row + (n + j) * p.c_column];
      value += (p.beta == 1 ? 1.0f : (float)p.beta) * load(c);
    }
    if (p.added) value += load(added.at[j]);
    result.at[j] = store<T>(activated(p, value));
  }
  *(Part*)((T*)p.result + at) = result;
}
