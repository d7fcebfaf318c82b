// SPDX-License-Identifier: Apache-2.0
// The windows of a convolution as the columns of a matrix [batch, channels, taps, positions]: one
// thread for all taps of a channel at a position. T, C, IS_TRANSPOSED (false): given.
KERNEL(WindowParameters) {
  const i64 plane = source_plane(p);
  const i64 taps = tap_count(p);
  const i64 positions = p.out[0] * p.out[1] * p.out[2];
  FOR_EACH(i, p.count) {
    const ResultPosition position = result_position(p, i);
    const i64 channel = position.image * p.channels + position.channel;
    const T* source = (const T*)p.source + channel * plane;
    const i64 at = (position.at[0] * p.out[1] + position.at[1]) * p.out[2] + position.at[2];
    T* columns = (T*)p.result + channel * taps * positions + at;
    for_each_tap<IS_TRANSPOSED>(p, position, [&](const Tap& tap, int k) {
      columns[k * positions] = tap.is_in ? source[position_in_plane(p, tap)] : store<T>((C)0);
    });
  }
}
