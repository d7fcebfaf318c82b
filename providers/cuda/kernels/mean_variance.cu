// SPDX-License-Identifier: Apache-2.0
// Elements that have a mean in common brought to mean 0 and deviation 1, wherever they lie; threads
// share them as row_share.cu has it. Index, T, C, ROW_RANK, RANK: given.
KERNEL(MeanVarianceParameters) {
#ifdef COLUMNS
  __shared__ C room[MOST_THREADS];
#else
  __shared__ C room[32];
#endif
  const i64 step = gridDim.x * RowShare::rows_at_once();
  for (i64 begin = blockIdx.x * RowShare::rows_at_once(); begin < p.rows; begin += step) {
    const i64 row = begin + RowShare::row();
    // Threads of a row that is not there go along.
    const i64 length = row < p.rows ? p.length : 0;
    const i64 first = length > 0 ? offset_of<ROW_RANK>((Index)row, p.row_extents, p.row_strides) : 0;
    const auto place = [&](i64 i) { return first + offset_of<RANK>((Index)i, p.extents, p.strides); };
    const T* x = (const T*)p.source;
    C sum = 0;
    for (i64 i = RowShare::part(); i < length; i += RowShare::parts()) sum += (C)load(x[place(i)]);
    const C mean = row_sum(sum, room) / (C)p.length;
    C square = 0;
    for (i64 i = RowShare::part(); i < length; i += RowShare::parts()) {
      const C distance = (C)load(x[place(i)]) - mean;
      square += distance * distance;
    }
    const C deviation = sqrt_(row_sum(square, room) / (C)p.length) + (C)p.epsilon;
    for (i64 i = RowShare::part(); i < length; i += RowShare::parts()) {
      const i64 at = place(i);
      ((T*)p.result)[at] = store<T>(((C)load(x[at]) - mean) / deviation);
    }
    __syncthreads();
  }
}
