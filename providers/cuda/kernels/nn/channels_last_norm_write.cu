// SPDX-License-Identifier: Apache-2.0
// Normalises a channels-last tensor by the statistics of channels_last_norm_reduce.cu. T of the
// tensor, S of scale and shift, C computed with, Index (u32 or u64): given.
KERNEL(ChannelsLastNormParameters) {
  typedef Pack<T, VECTOR> Part;
  const Index packs = (Index)(p.channels / VECTOR);
  const Index all = (Index)(p.batch * p.positions) * packs;
  for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < all;
       i += (Index)gridDim.x * blockDim.x) {
    const i64 image = (i64)quotient(i, p.image);
    const Index first = (i - quotient(i, p.packs) * packs) * VECTOR;
    Part part = ((const Part*)p.source)[i];
#pragma unroll
    for (int j = 0; j < VECTOR; ++j) {
      const i64 channel = (i64)first + j;
      const i64 group = (i64)quotient((u32)channel, p.group);
      const C* statistics = (const C*)p.statistics + 2 * (image * p.groups + group);
      const i64 number = p.is_by_channel ? channel : group;
      C value = ((C)load(part.at[j]) - statistics[0]) * statistics[1];
      value = value * (C)load(((const S*)p.scale)[number]) + (C)load(((const S*)p.shift)[number]);
      part.at[j] = store<T>(value);
    }
    ((Part*)p.result)[i] = part;
  }
}
