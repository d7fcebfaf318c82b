// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution of channels-last tensors with its epilogue: a thread computes VECTOR
// channels, 16 bytes, of one position. T of the tensors, C computed with, VECTOR, KERNEL_X and
// KERNEL_Y: given.
KERNEL(DepthwiseParameters) {
  typedef Pack<T, VECTOR> Part;
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.count) return;
  const u32 position = quotient(i, p.parts);
  const int part = (int)(i - position * p.parts.divisor);
  const u32 line = quotient(position, p.width);
  const u32 image = quotient(line, p.height);
  const int x = (int)(position - line * p.width.divisor) * p.stride_x - p.begin_x;
  const int y = (int)(line - image * p.height.divisor) * p.stride_y - p.begin_y;
  const int parts = (int)p.parts.divisor;
  const Part* const source =
      (const Part*)p.source + (i64)image * p.in_height * p.in_width * parts + part;
  const Part* const weights = (const Part*)p.weights + part;
  C sums[VECTOR];
#pragma unroll
  for (int j = 0; j < VECTOR; ++j) sums[j] = 0;
#pragma unroll
  for (int ky = 0; ky < KERNEL_Y; ++ky) {
#pragma unroll
    for (int kx = 0; kx < KERNEL_X; ++kx) {
      const int from_y = y + ky * p.dilation_y, from_x = x + kx * p.dilation_x;
      if (from_y < 0 || from_y >= p.in_height || from_x < 0 || from_x >= p.in_width) continue;
      const Part value = source[((i64)from_y * p.in_width + from_x) * parts];
      const Part weight = weights[(ky * KERNEL_X + kx) * parts];
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) sums[j] += (C)load(value.at[j]) * (C)load(weight.at[j]);
    }
  }
  Part bias, added, result;
  if (p.bias) bias = ((const Part*)p.bias)[part];
  if (p.added) added = ((const Part*)p.added)[i];
#pragma unroll
  for (int j = 0; j < VECTOR; ++j) {
    C sum = sums[j];
    if (p.bias) sum += (C)load(bias.at[j]);
    if (p.added) sum += (C)load(added.at[j]);
    if (p.has_relu && sum < 0) sum = 0;
    if (p.most > 0 && sum > (C)p.most) sum = (C)p.most;
    result.at[j] = store<T>(sum);
  }
  ((Part*)p.result)[i] = result;
}
