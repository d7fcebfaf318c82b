// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling, a thread for each result. T, C and which: given.
KERNEL(WindowParameters) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += (i64)gridDim.x * blockDim.x) {
    i64 rest = i;
    i64 at[3];
    i64 channel = 0;
    if (p.is_result_last) {
      channel = rest % p.result_channels;
      rest /= p.result_channels;
    }
#pragma unroll
    for (int axis = 2; axis >= 0; --axis) {
      at[axis] = rest % p.out[axis];
      rest /= p.out[axis];
    }
    if (!p.is_result_last) {
      channel = rest % p.result_channels;
      rest /= p.result_channels;
    }
    const i64 n = rest;
    const i64 plane = p.in[0] * p.in[1] * p.in[2];
    const i64 window = p.kernel[0] * p.kernel[1] * p.kernel[2];
#if defined(CONV) || defined(CONV_TRANSPOSE)
    const i64 of_group = p.channels / p.group;
    const i64 group = channel / (p.result_channels / p.group);
    const T* source = (const T*)p.source + (n * p.channels + group * of_group) * plane;
    C sum = p.bias ? (C)load(((const T*)p.bias)[channel]) : (C)0;
#else
    const T* source = (const T*)p.source + (p.is_source_last ? n * p.channels * plane + channel : (n * p.channels + channel) * plane);
    const i64 from_place_to_place = p.is_source_last ? p.channels : 1;
    C sum = 0;
    i64 count = 0;
    C most = Limits<C>::below();
    i64 most_at = -1;
#endif
    for (i64 k = 0; k < window; ++k) {
      const i64 kernel[3] = {k / (p.kernel[1] * p.kernel[2]), k / p.kernel[2] % p.kernel[1], k % p.kernel[2]};
      i64 from[3];
      bool is_in = true;
      bool is_padding = true;
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) {
#ifdef CONV_TRANSPOSE
        const i64 spread = at[axis] + p.begin[axis] - kernel[axis] * p.dilation[axis];
        from[axis] = spread / p.stride[axis];
        is_in = is_in && spread >= 0 && spread % p.stride[axis] == 0 && from[axis] < p.in[axis];
#else
        from[axis] = at[axis] * p.stride[axis] - p.begin[axis] + kernel[axis] * p.dilation[axis];
        is_in = is_in && from[axis] >= 0 && from[axis] < p.in[axis];
        is_padding = is_padding && from[axis] < p.in[axis] + p.end[axis];
#endif
      }
#ifdef AVERAGE_POOL
      if (is_padding && p.counts_padding) ++count;
#endif
      if (!is_in) continue;
      const i64 place = (from[0] * p.in[1] + from[1]) * p.in[2] + from[2];
#if defined(CONV)
      const T* weights = (const T*)p.weights + channel * of_group * window + k;
      for (i64 c = 0; c < of_group; ++c) sum += (C)load(source[c * plane + place]) * (C)load(weights[c * window]);
#elif defined(CONV_TRANSPOSE)
      const i64 made = p.result_channels / p.group;
      const T* weights = (const T*)p.weights + (group * of_group * made + channel % made) * window + k;
      for (i64 c = 0; c < of_group; ++c) sum += (C)load(source[c * plane + place]) * (C)load(weights[c * made * window]);
#else
      const C value = (C)load(source[place * from_place_to_place]);
#ifdef MAX_POOL
      if (most_at < 0 || value > most || (value != value && most == most)) {
        most = value;
        most_at = p.is_column_major ? (from[2] * p.in[1] + from[1]) * p.in[0] + from[0] : place;
      }
#elif defined(LP_POOL)
      const C size = value < 0 ? -value : value;
      sum += p.order == 1 ? size : p.order == 2 ? value * value : pow_(size, (C)p.order);
#else
      sum += value;
      if (!p.counts_padding) ++count;
#endif
#endif
    }
#if defined(MAX_POOL)
    if (p.result) ((T*)p.result)[i] = store<T>(most);
    if (p.indices) p.indices[i] = (n * p.channels + channel) * plane + most_at;
#elif defined(AVERAGE_POOL)
    ((T*)p.result)[i] = store<T>(sum / (C)(count > 0 ? count : 1));
#elif defined(LP_POOL)
    ((T*)p.result)[i] = store<T>(p.order == 1 ? sum : p.order == 2 ? sqrt_(sum) : pow_(sum, (C)1 / (C)p.order));
#else
    ((T*)p.result)[i] = store<T>(sum);
#endif
  }
}
