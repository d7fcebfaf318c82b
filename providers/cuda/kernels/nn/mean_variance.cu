// SPDX-License-Identifier: Apache-2.0
// Normalises strided rows to mean 0 and deviation 1; threads share rows as in row_share.cu. Index,
// T, C, ROW_RANK, RANK: given.
KERNEL(MeanVarianceParameters) {
#ifdef COLUMNS
  __shared__ C scratch[MOST_THREADS];
#else
  __shared__ C scratch[32];
#endif
  const i64 step = gridDim.x * RowShare::rows_at_once();
  for (i64 begin = blockIdx.x * RowShare::rows_at_once(); begin < p.rows; begin += step) {
    const i64 row = begin + RowShare::row();
    // Threads of a row out of range take part in the barriers.
    const i64 length = row < p.rows ? p.length : 0;
    const i64 first =
        length > 0 ? offset_of<ROW_RANK>((Index)row, p.row_extents, p.row_strides) : 0;
    const auto position = [&](i64 i) {
      return first + offset_of<RANK>((Index)i, p.extents, p.strides);
    };
    const T* x = (const T*)p.source;
    C sum = 0;
    for (i64 i = RowShare::part(); i < length; i += RowShare::parts())
      sum += (C)load(x[position(i)]);
    const C mean = row_sum(sum, scratch) / (C)p.length;
    C square = 0;
    for (i64 i = RowShare::part(); i < length; i += RowShare::parts()) {
      const C distance = (C)load(x[position(i)]) - mean;
      square += distance * distance;
    }
    const C deviation = sqrt_(row_sum(square, scratch) / (C)p.length) + (C)p.epsilon;
    for (i64 i = RowShare::part(); i < length; i += RowShare::parts()) {
      const i64 at = position(i);
      ((T*)p.result)[at] = store<T>(((C)load(x[at]) - mean) / deviation);
    }
    __syncthreads();
  }
}
