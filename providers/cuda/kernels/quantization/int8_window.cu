// SPDX-License-Identifier: Apache-2.0
// int8 convolutions whose groups have few channels: one thread per result.
KERNEL(Int8ConvParameters) {
  const WindowParameters& w = p.window;
  const i64 plane = source_plane(w);
  const i64 taps = tap_count(w);
  const i64 taken = w.channels / w.group;  // channels of a group
  const i64 made = w.result_channels / w.group;
  const i32 source_zero = p.out.right_zero ? (i32) * (const R*)p.out.right_zero : 0;
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < w.count; i += step) {
    const ResultPosition position = result_position(w, (Index)i);
    const i64 first = position.channel / made * taken;
    const i64 channel_step = w.is_source_last ? 1 : plane;
    const i64 position_step = w.is_source_last ? w.channels : 1;
    const R* source =
        (const R*)p.source + position.image * w.channels * plane + first * channel_step;
    const L* weights = (const L*)p.weights + position.channel * taken * taps;
    const i32 zero = p.out.left_zero
                         ? (i32)((const L*)p.out.left_zero)[position.channel * p.out.left_zero_step]
                         : 0;
    u32 sum = 0;
    for_each_tap<false>(w, position, [&](const Tap& tap, int k) {
      if (!tap.is_in) return;
      const R* from = source + position_in_plane(w, tap) * position_step;
      for (i64 c = 0; c < taken; ++c)
        sum += (u32)(((i32)from[c * channel_step] - source_zero) *
                     ((i32)weights[k + c * taps] - zero));
    });
    ((T*)p.out.result)[i] = result_of(p.out, position.channel, 0, (i32)sum);
  }
}
