// SPDX-License-Identifier: Apache-2.0
// Rows brought to mean 0 and variance 1, or to a mean square of 1. T of the tensor, S of scale and
// shift, C computed with, M of the mean, Index (u32, for rows of fewer than 2^31 elements, or u64);
// CENTERED or not: given.
inline C element(const NormParameters& p, i64 row, i64 i) {
  C x = (C)load(((const T*)p.source)[row * p.length + i]);
  if (p.skip) x += (C)load(((const T*)p.skip)[row % p.skip_rows * p.length + i]);
  if (p.bias) x += (C)load(((const T*)p.bias)[i]);
  return x;
}

KERNEL(NormParameters) {
  __shared__ C room[32];
  for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
    C mean = 0;
#ifdef CENTERED
    C sum = 0;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) sum += element(p, row, i);
    mean = block_sum(sum, room) / (C)p.length;
#endif
    C square = 0;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const C x = element(p, row, i) - mean;
      square += x * x;
    }
    const C deviation = (C)1 / sqrt_(block_sum(square, room) / (C)p.length + (C)p.epsilon);
    const i64 group = row % p.groups * p.per_group;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const C x = element(p, row, i);
      const i64 number = group + (i64)quotient((Index)i, p.run);
      C y = (x - mean) * deviation;
      if (p.scale) y *= (C)load(((const S*)p.scale)[number]);
      if (p.shift) y += (C)load(((const S*)p.shift)[number]);
      ((T*)p.result)[row * p.length + i] = store<T>(y);
      if (p.sum) ((T*)p.sum)[row * p.length + i] = store<T>(x);
    }
    if (threadIdx.x == 0) {
      if (p.mean) ((M*)p.mean)[row] = store<M>(mean);
      if (p.deviation) ((M*)p.deviation)[row] = store<M>(deviation);
    }
    __syncthreads();
  }
}
