// SPDX-License-Identifier: Apache-2.0
// Reductions by an Accumulator of accumulate.cu. Index, T, Result and one of the kernels below:
// given.
#ifdef SPLIT
// The elements of a block: part share % splits of the reduced elements.
inline i64 begin_of(const ReduceParameters& p, i64 share) {
  return p.reduced_count * (share % p.splits) / p.splits;
}
inline i64 end_of(const ReduceParameters& p, i64 share) {
  return p.reduced_count * (share % p.splits + 1) / p.splits;
}
inline i64 shares(const ReduceParameters& p, i64 count) { return count * p.splits; }
inline i64 owner_of(const ReduceParameters& p, i64 share) { return share / p.splits; }
inline void put(const ReduceParameters& p, i64 kept, i64 share, const Accumulator& all) {
  ((Accumulator*)p.partial)[kept * p.splits + share % p.splits] = all;
}
#else
inline i64 begin_of(const ReduceParameters&, i64) { return 0; }
inline i64 end_of(const ReduceParameters& p, i64) { return p.reduced_count; }
inline i64 shares(const ReduceParameters&, i64 count) { return count; }
inline i64 owner_of(const ReduceParameters&, i64 share) { return share; }
inline void put(const ReduceParameters& p, i64 kept, i64, const Accumulator& all) {
  ((Result*)p.result)[kept] = store<Result>(all.result(p.reduced_count));
}
#endif

#ifdef BY_BLOCK
// One block, of a power of 2 of threads, per result or per part of it.
KERNEL(ReduceParameters) {
  __shared__ Accumulator scratch[MOST_THREADS];
  for (i64 share = blockIdx.x; share < shares(p, p.kept_count); share += gridDim.x) {
    const i64 kept = owner_of(p, share);
    const i64 end = end_of(p, share);
    const T* source =
        (const T*)p.source + offset_of<KEPT_RANK>((Index)kept, p.kept_extents, p.kept_strides);
    Accumulator all;
    all.clear();
#pragma unroll 4
    for (i64 i = begin_of(p, share) + threadIdx.x; i < end; i += blockDim.x)
      all.add(load(source[offset_of<REDUCED_RANK>((Index)i, p.reduced_extents, p.reduced_strides)]),
              i);
    scratch[threadIdx.x] = all;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) scratch[threadIdx.x].take(scratch[threadIdx.x + half]);
    }
    if (threadIdx.x == 0) put(p, kept, share, scratch[0]);
    __syncthreads();
  }
}
#elif defined(BY_COLUMNS)
// For adjacent results of strided elements: a block computes COLUMNS results, so that loads are
// coalesced, and its threads share the elements of each.
KERNEL(ReduceParameters) {
  __shared__ Accumulator scratch[MOST_THREADS];
  const int column = threadIdx.x % COLUMNS;
  const int part = threadIdx.x / COLUMNS;
  const int parts = blockDim.x / COLUMNS;
  const i64 groups = (p.kept_count + COLUMNS - 1) / COLUMNS;
  for (i64 share = blockIdx.x; share < shares(p, groups); share += gridDim.x) {
    const i64 kept = owner_of(p, share) * COLUMNS + column;
    const i64 end = end_of(p, share);
    Accumulator all;
    all.clear();
    if (kept < p.kept_count) {
      const T* source =
          (const T*)p.source + offset_of<KEPT_RANK>((Index)kept, p.kept_extents, p.kept_strides);
#pragma unroll 4
      for (i64 i = begin_of(p, share) + part; i < end; i += parts)
        all.add(
            load(source[offset_of<REDUCED_RANK>((Index)i, p.reduced_extents, p.reduced_strides)]),
            i);
    }
    scratch[threadIdx.x] = all;
    for (int half = parts / 2; half > 0; half /= 2) {
      __syncthreads();
      if (part < half) scratch[threadIdx.x].take(scratch[threadIdx.x + half * COLUMNS]);
    }
    if (part == 0 && kept < p.kept_count) put(p, kept, share, scratch[column]);
    __syncthreads();
  }
}
#elif defined(REDUCE_PARTIALS)
// Merges the partial results of blocks: one block, of a power of 2 of threads, per result.
KERNEL(ReduceParameters) {
  __shared__ Accumulator scratch[MOST_THREADS];
  const i64 kept = blockIdx.x;
  const Accumulator* partial = (const Accumulator*)p.partial + kept * p.splits;
  Accumulator all;
  all.clear();
  for (i64 i = threadIdx.x; i < p.splits; i += blockDim.x) all.take(partial[i]);
  scratch[threadIdx.x] = all;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) scratch[threadIdx.x].take(scratch[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) put(p, kept, 0, scratch[0]);
}
#else
// One thread per result.
KERNEL(ReduceParameters) {
  for (i64 kept = (i64)blockIdx.x * blockDim.x + threadIdx.x; kept < p.kept_count;
       kept += (i64)gridDim.x * blockDim.x) {
    const T* source =
        (const T*)p.source + offset_of<KEPT_RANK>((Index)kept, p.kept_extents, p.kept_strides);
    Accumulator all;
    all.clear();
    for (i64 i = 0; i < p.reduced_count; ++i)
      all.add(load(source[offset_of<REDUCED_RANK>((Index)i, p.reduced_extents, p.reduced_strides)]),
              i);
    put(p, kept, 0, all);
  }
}
#endif
