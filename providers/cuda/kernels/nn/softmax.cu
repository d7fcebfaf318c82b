// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax, Hardmax and Lp-normalisation of rows, distributed as in row_share.cu. T, C
// and which: given.
KERNEL(SoftmaxParameters) {
#ifdef COLUMNS
  __shared__ C scratch[MOST_THREADS];
#else
  __shared__ C scratch[32];
#endif
  const int part = RowShare::part();
  const int parts = RowShare::parts();
  const i64 step = gridDim.x * RowShare::rows_at_once();
  for (i64 begin = blockIdx.x * RowShare::rows_at_once(); begin < p.rows; begin += step) {
    const i64 row = begin + RowShare::row();
    // Threads of a row out of range take part in the barriers.
    const i64 length = row < p.rows ? p.length : 0;
    const i64 first = row / p.stride * p.length * p.stride + row % p.stride;
    const T* x = (const T*)p.source + first;
    T* y = (T*)p.result + first;
#ifdef LP_NORM
    C all = 0;
    for (i64 i = part; i < length; i += parts) {
      const C value = load(x[i * p.stride]);
      all += p.order == 1 ? (value < 0 ? -value : value) : value * value;
    }
    all = row_sum(all, scratch);
    const C norm = p.order == 1 ? all : sqrt_(all);
    for (i64 i = part; i < length; i += parts)
      y[i * p.stride] = store<T>(norm == 0 ? (C)0 : load(x[i * p.stride]) / norm);
#else
    C most = Limits<C>::below();
    for (i64 i = part; i < length; i += parts) most = larger(most, (C)load(x[i * p.stride]));
    most = row_largest(most, scratch);
#ifdef HARDMAX
    C number = (C)p.length;
    for (i64 i = part; i < length; i += parts) {
      if ((C)load(x[i * p.stride]) == most) number = smaller(number, (C)i);
    }
    number = -row_largest(-number, scratch);
    for (i64 i = part; i < length; i += parts)
      y[i * p.stride] = store<T>((C)i == number ? (C)1 : (C)0);
#else
    C sum = 0;
    for (i64 i = part; i < length; i += parts) sum += exp_((C)load(x[i * p.stride]) - most);
    sum = row_sum(sum, scratch);
#ifdef LOG_SOFTMAX
    const C log_sum = log_(sum);
    for (i64 i = part; i < length; i += parts)
      y[i * p.stride] = store<T>((C)load(x[i * p.stride]) - most - log_sum);
#else
    for (i64 i = part; i < length; i += parts)
      y[i * p.stride] = store<T>(exp_((C)load(x[i * p.stride]) - most) / sum);
#endif
#endif
#endif
    __syncthreads();
  }
}
