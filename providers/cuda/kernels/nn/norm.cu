// SPDX-License-Identifier: Apache-2.0
// Layer normalisation (CENTERED) or RMS normalisation of rows of any length, read twice with vector
// loads of VECTOR elements. If several blocks share a row this text is two kernels: with ONLY_PARTS
// one that computes the moments of each part, with FROM_PARTS one that merges them and writes. T of
// the tensor, S of scale and shift, C computed with, M of the mean, Index (u32, for rows of fewer
// than 2^31 elements, or u64); CENTERED or not: given.

// Reads VECTOR elements of the sum that is normalised, at pack index `pack`.
inline void read(const NormParameters& p, i64 row, i64 pack, C* x) {
  typedef Pack<T, VECTOR> Part;
  const i64 packs = p.length / VECTOR;
  const Part source = ((const Part*)p.source)[row * packs + pack];
  Part skip = {};
  if (p.skip) skip = ((const Part*)p.skip)[row % p.skip_rows * packs + pack];
  Part bias = {};
  if (p.bias) bias = ((const Part*)p.bias)[pack];
#pragma unroll
  for (int j = 0; j < VECTOR; ++j) {
    x[j] = (C)load(source.at[j]);
    if (p.skip) x[j] += (C)load(skip.at[j]);
    if (p.bias) x[j] += (C)load(bias.at[j]);
  }
}

// Moments of elements [begin, end) * VECTOR of a row, by all threads of the block.
inline Moments moments(const NormParameters& p, i64 row, i64 begin, i64 end, C* scratch) {
  Moments own = {0, 0, 0};
  for (i64 pack = begin + threadIdx.x; pack < end; pack += blockDim.x) {
    C x[VECTOR];
    read(p, row, pack, x);
    C mean = 0;
    C square = 0;
#ifdef CENTERED
#pragma unroll
    for (int j = 0; j < VECTOR; ++j) mean += x[j];
    mean /= (C)VECTOR;
#endif
#pragma unroll
    for (int j = 0; j < VECTOR; ++j) square += (x[j] - mean) * (x[j] - mean);
    own.take((C)VECTOR, mean, square);
  }
  return block_moments(own, (C)((end - begin) * VECTOR), scratch);
}

inline void write(const NormParameters& p, i64 row, i64 begin, i64 end, C mean, C deviation) {
  typedef Pack<T, VECTOR> Part;
  const i64 packs = p.length / VECTOR;
  const i64 group = row % p.groups * p.per_group;
  for (i64 pack = begin + threadIdx.x; pack < end; pack += blockDim.x) {
    C x[VECTOR];
    read(p, row, pack, x);
    Part y;
    Part whole;
#pragma unroll
    for (int j = 0; j < VECTOR; ++j) {
      C value = (x[j] - mean) * deviation;
      const i64 number = group + (i64)quotient((Index)(pack * VECTOR + j), p.run);
      if (p.scale) value *= (C)load(((const S*)p.scale)[number]);
      if (p.shift) value += (C)load(((const S*)p.shift)[number]);
      y.at[j] = store<T>(value);
      whole.at[j] = store<T>(x[j]);
    }
    ((Part*)p.result)[row * packs + pack] = y;
    if (p.sum) ((Part*)p.sum)[row * packs + pack] = whole;
  }
}

KERNEL(NormParameters) {
  __shared__ C scratch[32];
  const i64 packs = p.length / VECTOR;
  for (i64 job = blockIdx.x; job < p.rows * p.shares; job += gridDim.x) {
    const i64 row = job / p.shares;
    const i64 share = job % p.shares;
    const i64 begin = packs * share / p.shares;
    const i64 end = packs * (share + 1) / p.shares;
#ifdef FROM_PARTS
    Moments all = {0, 0, 0};
    for (i64 i = 0; i < p.shares; ++i) {
      const C count = (C)((packs * (i + 1) / p.shares - packs * i / p.shares) * VECTOR);
      const C* part = (const C*)p.partial + 2 * (row * p.shares + i);
      all.take(count, part[0], part[1]);
    }
#else
    const Moments all = moments(p, row, begin, end, scratch);
#endif
#ifdef ONLY_PARTS
    if (threadIdx.x == 0) {
      C* part = (C*)p.partial + 2 * job;
      part[0] = all.mean;
      part[1] = all.square;
    }
#else
    const C deviation = (C)1 / sqrt_(all.square / (C)p.length + (C)p.epsilon);
    write(p, row, begin, end, all.mean, deviation);
    if (threadIdx.x == 0 && share == 0) {
      if (p.mean) ((M*)p.mean)[row] = store<M>(all.mean);
      if (p.deviation) ((M*)p.deviation)[row] = store<M>(deviation);
    }
#endif
    __syncthreads();
  }
}
