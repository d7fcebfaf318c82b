// SPDX-License-Identifier: Apache-2.0
// As norm.cu, for rows that fit into registers, so that memory is read once: PACKS vectors of
// VECTOR elements per thread, distributed as in row_lanes.cu. Scale and shift have one element per
// element of a row, or with BY_RUN one per p.run of them, a multiple of VECTOR. T of the tensor, S
// of scale and shift, C computed with, M of the mean, HAS_SKIP, HAS_BIAS; CENTERED or not: given.
KERNEL(NormParameters) {
  typedef Pack<T, VECTOR> Part;
  typedef Pack<S, VECTOR> Scales;
  __shared__ C scratch[32];
  const int packs = (int)(p.length / VECTOR);
  const int lane = (int)threadIdx.x % LANES;
  const i64 at_once = blockDim.x / LANES;
  for (i64 begin = blockIdx.x * at_once; begin < p.rows; begin += gridDim.x * at_once) {
    const i64 row = begin + threadIdx.x / LANES;
    // Threads of a row out of range take part in the barriers.
    const int count = row < p.rows ? packs : 0;
    C x[PACKS][VECTOR];
    C sum = 0;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
      const int i = lane + k * LANES;
      const bool is_in = i < count;
      Part source = {};
      if (is_in) source = ((const Part*)p.source)[row * packs + i];
#if HAS_SKIP
      Part skip = {};
      if (is_in) skip = ((const Part*)p.skip)[row % p.skip_rows * packs + i];
#endif
#if HAS_BIAS
      Part bias = {};
      if (is_in) bias = ((const Part*)p.bias)[i];
#endif
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) {
        C value = (C)load(source.at[j]);
#if HAS_SKIP
        value += (C)load(skip.at[j]);
#endif
#if HAS_BIAS
        value += (C)load(bias.at[j]);
#endif
        x[k][j] = value;
        sum += value;
      }
    }
    C mean = 0;
#ifdef CENTERED
    mean = lanes_sum(sum, scratch) / (C)p.length;
#endif
    C square = 0;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
      if (lane + k * LANES >= count) continue;
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) square += (x[k][j] - mean) * (x[k][j] - mean);
    }
    const C deviation = (C)1 / sqrt_(lanes_sum(square, scratch) / (C)p.length + (C)p.epsilon);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
      const int i = lane + k * LANES;
      if (i >= count) continue;
      Part y;
      Part whole;
      Scales scale = {};
      Scales shift = {};
#ifdef BY_RUN
      const i64 number = row % p.groups * p.per_group + (i64)quotient((u32)(i * VECTOR), p.run);
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) {
        scale.at[j] = ((const S*)p.scale)[number];
        shift.at[j] = ((const S*)p.shift)[number];
      }
#else
      if (p.scale) scale = ((const Scales*)p.scale)[i];
      if (p.shift) shift = ((const Scales*)p.shift)[i];
#endif
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) {
        C value = (x[k][j] - mean) * deviation;
        if (p.scale) value *= (C)load(scale.at[j]);
        if (p.shift) value += (C)load(shift.at[j]);
        y.at[j] = store<T>(value);
        whole.at[j] = store<T>(x[k][j]);
      }
      ((Part*)p.result)[row * packs + i] = y;
      if (p.sum) ((Part*)p.sum)[row * packs + i] = whole;
    }
    if (lane == 0 && row < p.rows) {
      if (p.mean) ((M*)p.mean)[row] = store<M>(mean);
      if (p.deviation) ((M*)p.deviation)[row] = store<M>(deviation);
    }
  }
}
