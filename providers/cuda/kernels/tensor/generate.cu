// SPDX-License-Identifier: Apache-2.0
// Range, EyeLike, Trilu, OneHot and cumulative sums. T, C, Number and which: given.
KERNEL(GenerateParameters) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count;
       i += (i64)gridDim.x * blockDim.x) {
#if defined(RANGE)
    ((T*)p.result)[i] = store<T>(IS_FLOAT ? (C)(p.start + (double)i * p.step)
                                          : (C)(p.start_integer + i * p.step_integer));
#elif defined(TRILU)
    const i64 row = i / p.columns % p.rows;
    const i64 column = i % p.columns;
    const bool is_kept = p.is_upper ? column - row >= p.diagonal : column - row <= p.diagonal;
    ((T*)p.result)[i] = is_kept ? ((const T*)p.source)[i] : T{};
#elif defined(EYE)
    ((T*)p.result)[i] = store<T>(i % p.columns - i / p.columns == p.diagonal ? (C)1 : (C)0);
#elif defined(ONE_HOT)
    const i64 position = i / p.inner % p.axis;
    const i64 of = i / (p.inner * p.axis) * p.inner + i % p.inner;
    i64 number = (i64)load(((const Number*)p.source)[of]);
    if (number < 0) number += p.axis;
    ((T*)p.result)[i] = ((const T*)p.values)[number == position ? 1 : 0];
#elif defined(CUM_SUM) || defined(CUM_PROD)
    // A thread for each line.
    const i64 first = i / p.inner * p.axis * p.inner + i % p.inner;
#ifdef CUM_SUM
    C all = 0;
#else
    C all = 1;
#endif
    for (i64 k = 0; k < p.axis; ++k) {
      const i64 at = first + (p.is_reversed ? p.axis - 1 - k : k) * p.inner;
      const C x = (C)load(((const T*)p.source)[at]);
      const C before = all;
#ifdef CUM_SUM
      all += x;
#else
      all *= x;
#endif
      ((T*)p.result)[at] = store<T>(p.is_exclusive ? before : all);
    }
#endif
  }
}
