// SPDX-License-Identifier: Apache-2.0
// Draws classes by unnormalised log-probabilities: one block per row. S of the source, T of the
// result: given.
KERNEL(RandomParameters) {
  __shared__ double scratch[MOST_THREADS];
  __shared__ double largest_of_warps[MOST_THREADS / 32];
  const u64 run = p.number ? *(const u64*)p.number : 0;
  const S* source = (const S*)p.source + (i64)blockIdx.x * p.classes;
  double* sums = p.sums + (i64)blockIdx.x * p.classes;
  double most = Limits<double>::below();
  for (i64 i = threadIdx.x; i < p.classes; i += blockDim.x)
    most = larger(most, (double)load(source[i]));
  most = block_largest(most, largest_of_warps);
  // Each thread sums a range of classes, then adds the prefix of the ranges before it.
  const i64 each = (p.classes + blockDim.x - 1) / blockDim.x;
  const i64 first = threadIdx.x * each;
  const i64 last = first + each < p.classes ? first + each : p.classes;
  double sum = 0;
  for (i64 i = first; i < last; ++i) {
    sum += exp_((double)load(source[i]) - most);
    sums[i] = sum;
  }
  scratch[threadIdx.x] = sum;
  __syncthreads();
  double before = 0;
  for (int i = 0; i < (int)threadIdx.x; ++i) before += scratch[i];
  for (i64 i = first; i < last; ++i) sums[i] += before;
  __syncthreads();
  const double all = sums[p.classes - 1];
  for (i64 i = threadIdx.x; i < p.samples; i += blockDim.x) {
    const i64 number = (i64)blockIdx.x * p.samples + i;
    const Bits bits = philox((u64)number, run, p.key);
    const double drawn = uniform_double(bits.at[0], bits.at[1]) * all;
    // The first class whose cumulative weight exceeds the drawn number.
    i64 low = 0, high = p.classes - 1;
    while (low < high) {
      const i64 middle = (low + high) / 2;
      if (sums[middle] > drawn) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    ((T*)p.result)[number] = (T)low;
  }
}
