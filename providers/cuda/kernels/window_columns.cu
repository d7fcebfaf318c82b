// SPDX-License-Identifier: Apache-2.0
// Col2Im, a thread for each element of the image, which sums what of the columns falls on it: the
// source is [batch, channels, taps, windows], `in` the windows and `out` the image. T, C,
// IS_TRANSPOSED (true): given.
KERNEL(WindowParameters) {
  const i64 windows = source_plane(p);
  const i64 taps = tap_count(p);
  FOR_EACH(i, p.count) {
    const ResultPlace place = result_place(p, i);
    const T* columns = (const T*)p.source + (place.image * p.channels + place.channel) * taps * windows;
    C sum = 0;
    for_each_tap<IS_TRANSPOSED>(p, place, [&](const Tap& tap, int k) {
      if (tap.is_in) sum += (C)load(columns[k * windows + place_in_plane(p, tap)]);
    });
    ((T*)p.result)[i] = store<T>(sum);
  }
}
