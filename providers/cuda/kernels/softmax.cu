// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax, Hardmax and Lp-normalisation of rows. T, C and which: given.
KERNEL(SoftmaxParameters) {
  __shared__ C room[32];
  for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const i64 first = row / p.stride * p.length * p.stride + row % p.stride;
    const T* x = (const T*)p.source + first;
    T* y = (T*)p.result + first;
#ifdef LP_NORM
    C all = 0;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const C value = load(x[i * p.stride]);
      all += p.order == 1 ? (value < 0 ? -value : value) : value * value;
    }
    all = block_sum(all, room);
    const C norm = p.order == 1 ? all : sqrt_(all);
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x)
      y[i * p.stride] = store<T>(norm == 0 ? (C)0 : load(x[i * p.stride]) / norm);
#else
    C most = Limits<C>::below();
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) most = larger(most, (C)load(x[i * p.stride]));
    most = block_largest(most, room);
#ifdef HARDMAX
    C number = (C)p.length;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      if ((C)load(x[i * p.stride]) == most) number = smaller(number, (C)i);
    }
    number = -block_largest(-number, room);
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x)
      y[i * p.stride] = store<T>((C)i == number ? (C)1 : (C)0);
#else
    C sum = 0;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) sum += exp_((C)load(x[i * p.stride]) - most);
    sum = block_sum(sum, room);
#ifdef LOG_SOFTMAX
    const C log_sum = log_(sum);
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x)
      y[i * p.stride] = store<T>((C)load(x[i * p.stride]) - most - log_sum);
#else
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x)
      y[i * p.stride] = store<T>(exp_((C)load(x[i * p.stride]) - most) / sum);
#endif
#endif
#endif
    __syncthreads();
  }
}
