// SPDX-License-Identifier: Apache-2.0
// TopK by selection: k times, the block searches the best element after the last one found. T and
// what topk_order.cu requires: given.
KERNEL(TopKParameters) {
  __shared__ Found scratch[256];
  for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const i64 first = row / p.stride * p.length * p.stride + row % p.stride;
    const i64 target = row / p.stride * p.k * p.stride + row % p.stride;
    Found last = {C(), -1};
    for (i64 n = 0; n < p.k; ++n) {
      Found best = {C(), -1};
      for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
        const Found one = {(C)load(((const T*)p.source)[first + i * p.stride]), i};
        if ((last.number < 0 || is_before(last, one)) && is_before(one, best)) best = one;
      }
      scratch[threadIdx.x] = best;
      for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half && is_before(scratch[threadIdx.x + half], scratch[threadIdx.x]))
          scratch[threadIdx.x] = scratch[threadIdx.x + half];
      }
      __syncthreads();
      last = scratch[0];
      if (threadIdx.x == 0) {
        if (p.values) ((T*)p.values)[target + n * p.stride] = store<T>(last.value);
        if (p.numbers) p.numbers[target + n * p.stride] = last.number;
      }
      __syncthreads();
    }
  }
}
