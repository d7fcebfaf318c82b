// SPDX-License-Identifier: Apache-2.0
// Determinants of small matrices by LU elimination with pivoting, in f64. A thread has a matrix of
// SIZE rows in registers. T: given.
KERNEL(DetParameters) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count;
       i += (i64)gridDim.x * blockDim.x) {
    const T* x = (const T*)p.source + i * SIZE * SIZE;
    double a[SIZE][SIZE];
#pragma unroll
    for (int k = 0; k < SIZE * SIZE; ++k) a[k / SIZE][k % SIZE] = (double)load(x[k]);
    double result = 1;
#pragma unroll
    for (int column = 0; column < SIZE; ++column) {
      // Swaps the pivot row up, so that all indices are compile-time constants and the matrix stays
      // in registers.
#pragma unroll
      for (int row = column + 1; row < SIZE; ++row) {
        if (!(fabs_(a[row][column]) > fabs_(a[column][column]))) continue;
#pragma unroll
        for (int k = 0; k < SIZE; ++k) {
          const double other = a[row][k];
          a[row][k] = a[column][k];
          a[column][k] = other;
        }
        result = -result;
      }
      const double head = a[column][column];
      result *= head;
#pragma unroll
      for (int row = column + 1; row < SIZE; ++row) {
        const double factor = head == 0 ? 0 : a[row][column] / head;
#pragma unroll
        for (int k = column + 1; k < SIZE; ++k) a[row][k] -= factor * a[column][k];
      }
    }
    ((T*)p.result)[i] = store<T>(result);
  }
}
