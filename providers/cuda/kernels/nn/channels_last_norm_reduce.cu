// SPDX-License-Identifier: Apache-2.0
// Mean and inverse deviation of a group of channels of an image, from the partial results of
// channels_last_norm_partial.cu. One block per group. C computed with: given.
KERNEL(ChannelsLastNormParameters) {
  __shared__ C scratch[32];
  const i64 image = blockIdx.x / p.groups;
  const i64 group = blockIdx.x % p.groups;
  const i64 size = p.channels / p.groups;
  Moments own = {0, 0, 0};
  for (i64 i = threadIdx.x; i < size * p.chunks; i += blockDim.x) {
    const i64 chunk = i / size;
    const i64 count = p.positions * (chunk + 1) / p.chunks - p.positions * chunk / p.chunks;
    const C* part = (const C*)p.partial +
                    2 * ((image * p.chunks + chunk) * p.channels + group * size + i % size);
    own.take((C)count, part[0], part[1]);
  }
  const C count = (C)(size * p.positions);
  const Moments all = block_moments(own, count, scratch);
  if (threadIdx.x > 0) return;
  C* to = (C*)p.statistics + 2 * blockIdx.x;
  to[0] = all.mean;
  to[1] = (C)1 / sqrt_(all.square / count + (C)p.epsilon);
}
