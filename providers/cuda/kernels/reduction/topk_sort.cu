// SPDX-License-Identifier: Apache-2.0
// TopK by one pass over the row, for a k that is small compared to the buffer (topk.cu: larger
// ones). Elements that come before the current k-th best are appended to a buffer in shared memory;
// before it could overflow it is sorted, and the first k stay. T, SIZE of the buffer (a power of
// 2), ITEMS per thread and step, and what topk_order.cu requires: given.

// Sorts the first `count` elements of `room` (bitonic sort). All threads must call it.
inline void sort(Found* scratch, int count) {
  int size = 2;
  while (size < count) size *= 2;
  for (int i = count + (int)threadIdx.x; i < size; i += blockDim.x) scratch[i].number = -1;
  for (int length = 2; length <= size; length *= 2) {
    for (int half = length / 2; half > 0; half /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < size / 2; i += blockDim.x) {
        const int low = 2 * i - (i & (half - 1));
        const bool is_rising = (low & length) == 0;
        const Found a = scratch[low];
        const Found b = scratch[low + half];
        if (is_before(b, a) != is_rising) continue;
        scratch[low] = b;
        scratch[low + half] = a;
      }
    }
  }
  __syncthreads();
}

KERNEL(TopKParameters) {
  __shared__ Found scratch[SIZE];
  __shared__ int filled;
  const int k = (int)p.k;
  const i64 step = (i64)blockDim.x * ITEMS;
  for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const T* source = (const T*)p.source + row / p.stride * p.length * p.stride + row % p.stride;
    __syncthreads();
    if (threadIdx.x == 0) filled = 0;
    bool has_bound = false;
    for (i64 first = 0; first < p.length; first += step) {
      __syncthreads();
      const int count = filled;
      __syncthreads();
      if (count + (int)step > SIZE) {
        sort(scratch, count);
        has_bound = count >= k;
        if (threadIdx.x == 0) filled = count < k ? count : k;
        __syncthreads();
      }
      // It is not moved before the next sort, which ends with a barrier.
      Found bound = {C(), -1};
      if (has_bound) bound = scratch[k - 1];
      T values[ITEMS];
#pragma unroll
      for (int j = 0; j < ITEMS; ++j) {
        const i64 i = first + j * (int)blockDim.x + threadIdx.x;
        if (i < p.length) values[j] = source[i * p.stride];
      }
#pragma unroll
      for (int j = 0; j < ITEMS; ++j) {
        const i64 i = first + j * (int)blockDim.x + threadIdx.x;
        if (i >= p.length) continue;
        const Found one = {(C)load(values[j]), (Place)i};
        if (!has_bound || is_before(one, bound)) scratch[atomicAdd(&filled, 1)] = one;
      }
    }
    __syncthreads();
    const int count = filled;
    sort(scratch, count);
    const i64 target = row / p.stride * p.k * p.stride + row % p.stride;
    for (int i = threadIdx.x; i < k; i += blockDim.x) {
      if (p.values) ((T*)p.values)[target + i * p.stride] = store<T>(scratch[i].value);
      if (p.numbers) p.numbers[target + i * p.stride] = scratch[i].number;
    }
  }
}
