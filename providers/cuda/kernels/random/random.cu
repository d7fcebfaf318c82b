// SPDX-License-Identifier: Apache-2.0
// Random tensors: two elements per four random words of a thread. T of the result, C computed with
// (float or double), S of the source, and one of UNIFORM, NORMAL, BERNOULLI and DROPOUT: given.
KERNEL(RandomParameters) {
  const u64 run = p.number ? *(const u64*)p.number : 0;
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 pair = (i64)blockIdx.x * blockDim.x + threadIdx.x; 2 * pair < p.count; pair += step) {
    const Bits bits = philox((u64)pair, run, p.key);
#ifdef NORMAL
    // Box-Muller transform: the first number is in (0, 1], so that its logarithm is finite.
    const double radius = sqrt_(-2.0 * log_(1.0 - uniform_double(bits.at[0], bits.at[1])));
    const double angle = 6.283185307179586477 * uniform_double(bits.at[2], bits.at[3]);
    const double drawn[2] = {radius * cos_(angle), radius * sin_(angle)};
#else
    const double drawn[2] = {uniform_double(bits.at[0], bits.at[1]),
                             uniform_double(bits.at[2], bits.at[3])};
#endif
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const i64 i = 2 * pair + j;
      if (i >= p.count) break;
#if defined(BERNOULLI)
      ((T*)p.result)[i] = store<T>((C)(drawn[j] < (double)load(((const S*)p.source)[i]) ? 1 : 0));
#elif defined(DROPOUT)
      const bool is_kept = drawn[j] >= p.offset;
      if (p.result)
        ((T*)p.result)[i] =
            is_kept ? store<T>((C)load(((const S*)p.source)[i]) * (C)p.scale) : store<T>((C)0);
      if (p.mask) ((bool*)p.mask)[i] = is_kept;
#else
      ((T*)p.result)[i] = store<T>((C)(p.offset + p.scale * drawn[j]));
#endif
    }
  }
}
