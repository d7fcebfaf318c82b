// SPDX-License-Identifier: Apache-2.0
// Convolutions whose groups have few channels, and transposed ones: one thread per result. T, C,
// IS_TRANSPOSED (true or false): given.
KERNEL(WindowParameters) {
  const i64 plane = source_plane(p);
  const i64 taps = tap_count(p);
  const i64 taken = p.channels / p.group;  // channels of a group
  const i64 made = p.result_channels / p.group;
  const i64 step = IS_TRANSPOSED ? made * taps : taps;  // stride of input channels in the weights
  FOR_EACH(i, p.count) {
    const ResultPosition position = result_position(p, i);
    const i64 group = position.channel / made;
    const T* source = (const T*)p.source + (position.image * p.channels + group * taken) * plane;
    const T* weights = (const T*)p.weights +
                       (IS_TRANSPOSED ? (group * taken * made + position.channel % made) * taps
                                      : position.channel * taken * taps);
    C sum = p.bias ? (C)load(((const T*)p.bias)[position.channel]) : (C)0;
    for_each_tap<IS_TRANSPOSED>(p, position, [&](const Tap& tap, int k) {
      if (!tap.is_in) return;
      const T* from = source + position_in_plane(p, tap);
      for (i64 c = 0; c < taken; ++c)
        sum += (C)load(from[c * plane]) * (C)load(weights[k + c * step]);
    });
    ((T*)p.result)[i] = store<T>(sum);
  }
}
