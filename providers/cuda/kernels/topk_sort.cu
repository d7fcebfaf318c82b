// SPDX-License-Identifier: Apache-2.0
// The first k of a row in order, for a k that leaves room beside it (topk.cu is for others): a block
// goes through its row once. What comes before the k-th of those seen so far is put into shared
// memory; when that may be full it is sorted, and the first k stay. T, SIZE (a power of 2) of that
// memory, ITEMS that a thread reads at a time, and what topk_order.cu takes: given.

// Brings the first `count` elements of `room` into order, bitonically. Every thread has to call it.
inline void sort(Found* room, int count) {
  int size = 2;
  while (size < count) size *= 2;
  for (int i = count + (int)threadIdx.x; i < size; i += blockDim.x) room[i].number = -1;
  for (int length = 2; length <= size; length *= 2) {
    for (int half = length / 2; half > 0; half /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < size / 2; i += blockDim.x) {
        const int low = 2 * i - (i & (half - 1));
        const bool is_rising = (low & length) == 0;
        const Found a = room[low];
        const Found b = room[low + half];
        if (is_before(b, a) != is_rising) continue;
        room[low] = b;
        room[low + half] = a;
      }
    }
  }
  __syncthreads();
}

KERNEL(TopKParameters) {
  __shared__ Found room[SIZE];
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
        sort(room, count);
        has_bound = count >= k;
        if (threadIdx.x == 0) filled = count < k ? count : k;
        __syncthreads();
      }
      // It stays where it is until the next sort, behind which the threads meet.
      Found bound = {C(), -1};
      if (has_bound) bound = room[k - 1];
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
        if (!has_bound || is_before(one, bound)) room[atomicAdd(&filled, 1)] = one;
      }
    }
    __syncthreads();
    const int count = filled;
    sort(room, count);
    const i64 target = row / p.stride * p.k * p.stride + row % p.stride;
    for (int i = threadIdx.x; i < k; i += blockDim.x) {
      if (p.values) ((T*)p.values)[target + i * p.stride] = store<T>(room[i].value);
      if (p.numbers) p.numbers[target + i * p.stride] = room[i].number;
    }
  }
}
