// SPDX-License-Identifier: Apache-2.0
// Col2Im: one thread per element of the image, which sums the columns that cover it. The source is
// [batch, channels, taps, windows], `in` the windows and `out` the image. T, C, IS_TRANSPOSED
// (true): given.
KERNEL(WindowParameters) {
  const i64 windows = source_plane(p);
  const i64 taps = tap_count(p);
  FOR_EACH(i, p.count) {
    const ResultPosition position = result_position(p, i);
    const T* columns =
        (const T*)p.source + (position.image * p.channels + position.channel) * taps * windows;
    C sum = 0;
    for_each_tap<IS_TRANSPOSED>(p, position, [&](const Tap& tap, int k) {
      if (tap.is_in) sum += (C)load(columns[k * windows + position_in_plane(p, tap)]);
    });
    ((T*)p.result)[i] = store<T>(sum);
  }
}
