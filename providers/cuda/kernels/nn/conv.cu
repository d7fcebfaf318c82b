// SPDX-License-Identifier: Apache-2.0
// Convolution as an implicit GEMM: weights [channels, K] times windows [K, positions], which are
// not materialised. A block computes 64 channels x 64 positions of one group of one image, a thread
// 4 x 4 of them. T, C: given.
#define TILE 64
#define STRIP 16

KERNEL(WindowParameters) {
  __shared__ C left[STRIP][TILE + 1];
  __shared__ C right[STRIP][TILE + 1];
  const int made = (int)(p.result_channels / p.group);  // channels of a group
  const int taken = (int)(p.channels / p.group);
  const int window = (int)(p.kernel[0] * p.kernel[1] * p.kernel[2]);
  const int depth = taken * window;
  const i64 positions = p.out[0] * p.out[1] * p.out[2];
  const i64 plane = p.in[0] * p.in[1] * p.in[2];
  i64 rest = blockIdx.x;
  const int column = (int)(rest % p.tiles_n) * TILE;
  rest /= p.tiles_n;
  const int row = (int)(rest % p.tiles_m) * TILE;
  rest /= p.tiles_m;
  const int group = (int)(rest % p.group);
  const i64 image = rest / p.group;
  const T* weights = (const T*)p.weights + (i64)group * made * depth;
  const T* source = (const T*)p.source + (image * p.channels + (i64)group * taken) * plane;
  T* result = (T*)p.result + (image * p.result_channels + (i64)group * made) * positions;
  const int y = threadIdx.x / 16;
  const int x = threadIdx.x % 16;
  // This thread reads the window of the same position in every strip.
  const int position = column + threadIdx.x % TILE;
  const bool is_position = position < positions;
  const int out2 = (int)p.out[2], out1 = (int)p.out[1];
  const int at2 = position % out2 * (int)p.stride[2] - (int)p.begin[2];
  const int at1 = position / out2 % out1 * (int)p.stride[1] - (int)p.begin[1];
  const int at0 = position / out2 / out1 * (int)p.stride[0] - (int)p.begin[0];
  const int kernel2 = (int)p.kernel[2], kernel1 = (int)p.kernel[1];
  C sums[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) sums[i][j] = 0;
  for (int k = 0; k < depth; k += STRIP) {
    __syncthreads();
    for (int e = threadIdx.x; e < TILE * STRIP; e += 256) {
      const int s = e % STRIP;
      const int m = row + e / STRIP;
      left[s][e / STRIP] =
          m < made && k + s < depth ? (C)load(weights[(i64)m * depth + k + s]) : (C)0;
    }
    for (int s = threadIdx.x / TILE; s < STRIP; s += 4) {
      const int d = k + s;
      C value = 0;
      if (is_position && d < depth) {
        const int w = d % window;
        const int from2 = at2 + w % kernel2 * (int)p.dilation[2];
        const int from1 = at1 + w / kernel2 % kernel1 * (int)p.dilation[1];
        const int from0 = at0 + w / kernel2 / kernel1 * (int)p.dilation[0];
        if (from0 >= 0 && from0 < p.in[0] && from1 >= 0 && from1 < p.in[1] && from2 >= 0 &&
            from2 < p.in[2])
          value = (C)load(source[d / window * plane + (from0 * p.in[1] + from1) * p.in[2] + from2]);
      }
      right[s][threadIdx.x % TILE] = value;
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < STRIP; ++s) {
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] += left[s][y + 16 * i] * right[s][x + 16 * j];
    }
  }
  for (int i = 0; i < 4; ++i) {
    const int m = row + y + 16 * i;
    if (m >= made) continue;
    const C bias = p.bias ? (C)load(((const T*)p.bias)[group * made + m]) : (C)0;
    for (int j = 0; j < 4; ++j) {
      const i64 n = column + x + 16 * j;
      if (n < positions) result[m * positions + n] = store<T>(sums[i][j] + bias);
    }
  }
}
