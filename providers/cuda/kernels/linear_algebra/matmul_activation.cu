// SPDX-License-Identifier: Apache-2.0
// Applies an activation to the result of a matmul, in place. T of the result, C computed with:
// given.
KERNEL(MatmulParameters) {
  T* const result = (T*)p.result;
  const i64 count = p.m * p.n;
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i * 8 < count; i += step) {
    if (i * 8 + 8 <= count) {
      Pack<T, 8> part = ((const Pack<T, 8>*)result)[i];
#pragma unroll
      for (int j = 0; j < 8; ++j) part.at[j] = store<T>(activated(p, (C)load(part.at[j])));
      ((Pack<T, 8>*)result)[i] = part;
    } else {
      for (i64 at = i * 8; at < count; ++at)
        result[at] = store<T>(activated(p, (C)load(result[at])));
    }
  }
}
