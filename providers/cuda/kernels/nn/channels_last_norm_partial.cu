// SPDX-License-Identifier: Apache-2.0
// Mean and squared deviations per channel of a chunk of positions of a channels-last tensor. A
// block has one chunk and LANES * VECTOR channels. T, C computed with: given.
KERNEL(ChannelsLastNormParameters) {
  typedef Pack<T, VECTOR> Part;
  __shared__ C counts[MOST_THREADS];
  __shared__ C means[MOST_THREADS][VECTOR];
  __shared__ C squares[MOST_THREADS][VECTOR];
  const i64 packs = p.channels / VECTOR;
  const i64 tiles = (packs + LANES - 1) / LANES;
  const i64 chunk = blockIdx.x / tiles % p.chunks;
  const i64 image = blockIdx.x / tiles / p.chunks;
  const int line = threadIdx.x / LANES;
  const int lines = blockDim.x / LANES;
  const i64 pack = blockIdx.x % tiles * LANES + threadIdx.x % LANES;
  const i64 end = p.positions * (chunk + 1) / p.chunks;
  C count = 0;
  C mean[VECTOR] = {};
  C square[VECTOR] = {};
  if (pack < packs) {
#pragma unroll 4
    for (i64 position = p.positions * chunk / p.chunks + line; position < end; position += lines) {
      const Part part = ((const Part*)p.source)[(image * p.positions + position) * packs + pack];
      count += 1;
      const C share = (C)1 / count;
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) {
        const C x = (C)load(part.at[j]);
        const C distance = x - mean[j];
        mean[j] += distance * share;
        square[j] += distance * (x - mean[j]);
      }
    }
  }
  counts[threadIdx.x] = count;
#pragma unroll
  for (int j = 0; j < VECTOR; ++j) {
    means[threadIdx.x][j] = mean[j];
    squares[threadIdx.x][j] = square[j];
  }
  __syncthreads();
  if (line > 0 || pack >= packs) return;
#pragma unroll
  for (int j = 0; j < VECTOR; ++j) {
    Moments all = {count, mean[j], square[j]};
    for (int other = 1; other < lines; ++other) {
      const int thread = other * LANES + threadIdx.x;
      if (counts[thread] > 0) all.take(counts[thread], means[thread][j], squares[thread][j]);
    }
    C* to = (C*)p.partial + 2 * ((image * p.chunks + chunk) * p.channels + pack * VECTOR + j);
    to[0] = all.mean;
    to[1] = all.square;
  }
}
