// SPDX-License-Identifier: Apache-2.0
// Determinants by LU elimination with pivoting, in f64. One block per matrix, which it copies to
// scratch memory. T: given.
KERNEL(DetParameters) {
  __shared__ double scratch[32];
  const i64 n = p.size;
  for (i64 matrix = blockIdx.x; matrix < p.count; matrix += gridDim.x) {
    double* a = p.scratch + matrix * n * n;
    const T* x = (const T*)p.source + matrix * n * n;
    for (i64 i = threadIdx.x; i < n * n; i += blockDim.x) a[i] = (double)load(x[i]);
    double result = 1;
    for (i64 column = 0; column < n; ++column) {
      __syncthreads();
      // The first row with the largest absolute value.
      double most = -1;
      for (i64 row = column + threadIdx.x; row < n; row += blockDim.x)
        most = larger(most, fabs_(a[row * n + column]));
      most = block_largest(most, scratch);
      double number = -(double)n;
      for (i64 row = column + threadIdx.x; row < n; row += blockDim.x) {
        if (fabs_(a[row * n + column]) == most) number = larger(number, -(double)row);
      }
      const i64 pivot = (i64)-block_largest(number, scratch);
      if (pivot >= n || most == 0) {  // a column of NaN has no pivot
        result = most == 0 ? 0 : most;
        break;
      }
      if (pivot != column) {
        for (i64 i = column + threadIdx.x; i < n; i += blockDim.x) {
          const double other = a[pivot * n + i];
          a[pivot * n + i] = a[column * n + i];
          a[column * n + i] = other;
        }
        result = -result;
      }
      __syncthreads();
      const double head = a[column * n + column];
      result *= head;
      const i64 left = n - 1 - column;
      for (i64 i = threadIdx.x; i < left * left; i += blockDim.x) {
        const i64 row = column + 1 + i / left;
        const i64 at = column + 1 + i % left;
        a[row * n + at] -= a[row * n + column] / head * a[column * n + at];
      }
    }
    if (threadIdx.x == 0) ((T*)p.result)[matrix] = store<T>(result);
    __syncthreads();
  }
}
